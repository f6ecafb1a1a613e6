/** Moving the ready messages of a queue to another one. */

import { ask, path } from "./api.js";
import { element } from "./element.js";
import { field } from "./field.js";
import { count, counted } from "./format.js";
import { Notice } from "./notice.js";

const REQUEST_MAX = 1000; // so that the progress is seen, and leaving the page ends it soon

const STOPPED = {
  empty: "nothing is ready any more",
  destination_full: "the other queue is full",
  destination_down: "the node of the other queue is down",
  queue_deleted: "one of the queues was deleted",
};

/**
 * Move up to `wanted` messages, `progress(moved)` after each request. Resolves to
 * `{moved, stopped}`, where `stopped` is null when all were moved.
 */
export async function moveMessages(vhost, name, destination, wanted, progress) {
  let moved = 0;
  while (moved < wanted) {
    const answer = await ask(path("queues", vhost, name, "move"), {
      method: "POST",
      body: { destination, count: Math.min(REQUEST_MAX, wanted - moved) },
    });
    moved += answer.moved;
    progress(moved);
    if (answer.stopped !== "count") return { moved, stopped: answer.stopped };
  }
  return { moved, stopped: null };
}

export class MovePanel {
  #destination = element("input", { required: true, spellcheck: "false" });
  #amount = element("input", { type: "number", min: "1", placeholder: "all that are ready" });
  #notice = new Notice();

  constructor(vhost, name) {
    const move = element("button", { type: "submit" }, "Move");
    const submit = (event) => {
      event.preventDefault();
      this.#notice.during(move, () => this.#move(vhost, name));
    };
    this.element = element(
      "section",
      { class: "panel", "aria-label": "Move messages" },
      element("h2", {}, "Move messages"),
      element(
        "p",
        { class: "quiet" },
        "Ready messages go from the head of this queue to the end of another one of the same" +
          " virtual host. Where both are durable, and on one node, not even a crash loses or" +
          " doubles a persistent message.",
      ),
      element(
        "form",
        { submit },
        field("To queue", this.#destination),
        field("How many", this.#amount),
        move,
      ),
      this.#notice.element,
    );
  }

  async #move(vhost, name) {
    let wanted = this.#amount.valueAsNumber;
    if (Number.isNaN(wanted)) {
      // All that are ready now: what is published meanwhile, perhaps by a retry, stays.
      wanted = (await ask(path("queues", vhost, name))).messages_ready;
    }
    const destination = this.#destination.value;
    const { moved, stopped } = await moveMessages(vhost, name, destination, wanted, (soFar) =>
      this.#notice.say(`${count(soFar)} of ${count(wanted)} moved …`),
    );
    const why = stopped === null ? "" : `; ${STOPPED[stopped] ?? stopped}`;
    return `${counted(moved, "message")} moved to ${destination}${why}.`;
  }
}
