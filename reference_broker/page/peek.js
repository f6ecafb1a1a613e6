/** Looking at the first messages of a queue, which puts them back. */

import { ask, path } from "./api.js";
import { element, replace } from "./element.js";
import { field } from "./field.js";
import { count, counted } from "./format.js";
import { messageCard } from "./message.js";
import { Notice } from "./notice.js";

const COUNT_MAX = 100;
const PAYLOAD_BYTES_MAX = 65536; // of each message: the rest is not fetched

/** Up to `limit` messages from the head; they are ready again, marked as redelivered. */
export function peek(vhost, name, limit) {
  return ask(path("queues", vhost, name, "get"), {
    method: "POST",
    body: {
      count: limit,
      ackmode: "ack_requeue_true",
      encoding: "auto",
      truncate: PAYLOAD_BYTES_MAX,
    },
  });
}

export class PeekPanel {
  #messages = element("div");
  #notice = new Notice();

  constructor(vhost, name) {
    const amount = element("input", {
      type: "number", min: "1", max: String(COUNT_MAX), value: "5", required: true,
    });
    const look = element("button", { type: "submit" }, "Look");
    const submit = (event) => {
      event.preventDefault();
      this.#notice.during(look, () => this.#look(vhost, name, amount.valueAsNumber));
    };
    this.element = element(
      "section",
      { class: "panel", "aria-label": "Look at messages" },
      element("h2", {}, "Look at messages"),
      element(
        "p",
        { class: "quiet" },
        "Messages are taken from the head and put back where they were. They are marked as" +
          " redelivered by that, and consumers will see it.",
      ),
      element("form", { class: "inline", submit }, field("How many", amount), look),
      this.#notice.element,
      this.#messages,
    );
  }

  async #look(vhost, name, amount) {
    const messages = await peek(vhost, name, amount);
    replace(this.#messages, messages.map((message, index) => messageCard(message, index + 1)));
    if (messages.length === 0) return "Nothing is ready.";
    const left = count(messages.at(-1).message_count);
    return `${counted(messages.length, "message")} shown, ${left} more ready.`;
  }
}
