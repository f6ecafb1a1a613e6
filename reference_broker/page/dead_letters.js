/** The queues that dead letters come to, and why each message is there. */

import { ask, path, withQuery } from "./api.js";
import { deadLetterQueues } from "./dead_letter_queues.js";
import { element, replace, setText } from "./element.js";
import { count, counted } from "./format.js";
import { messageCard } from "./message.js";
import { Notice } from "./notice.js";
import { peek } from "./peek.js";
import { queueLink } from "./queues.js";
import { Table } from "./table.js";

const PAGE_SIZE = 500;
const PAGES_MAX = 20;
const LOOK = 10;
const SHOWN_SOURCES = 5;
const COLUMNS = "name,vhost,arguments,effective_policy_definition,messages_ready";

export class DeadLettersView {
  title = "Dead letters";
  #summary = element("p", { class: "quiet", role: "status" });
  #messages = element("section", { class: "panel", "aria-label": "Messages", hidden: true });
  #notice = new Notice();
  #table = new Table(
    "Queues that get dead letters",
    [
      { title: "Queue", make: ({ queue }) => queueLink(queue) },
      { title: "Virtual host", text: ({ queue }) => queue.vhost },
      { title: "Ready", text: ({ queue }) => count(queue.messages_ready), number: true },
      { title: "Dead letters of", text: ({ from }) => sources(from) },
      { title: "Look", make: ({ queue }) => this.#lookButton(queue) },
    ],
    ({ queue }) => JSON.stringify([queue.vhost, queue.name]),
    { empty: "No queue here has a dead-letter exchange that leads to a queue." },
  );

  constructor() {
    this.element = element(
      "div",
      {},
      element("h1", {}, this.title),
      element(
        "p",
        { class: "quiet" },
        "A message that was rejected, that expired or that did not fit goes to its queue's" +
          " dead-letter exchange. Looking puts messages back, marked as redelivered.",
      ),
      this.#summary,
      this.#table.element,
      this.#notice.element,
      this.#messages,
    );
  }

  async refresh(missing) {
    const [{ queues, complete }, bindings] = await Promise.all([
      allQueues(missing),
      ask(path("bindings")),
    ]);
    const found = deadLetterQueues(queues, bindings);
    this.#table.fill(found);
    const waiting = found.reduce((sum, { queue }) => sum + (queue.messages_ready ?? 0), 0);
    const bounded = complete ? "" : ` (of the first ${count(queues.length)} queues)`;
    setText(
      this.#summary,
      `${counted(waiting, "message")} ready in ${counted(found.length, "queue")}${bounded}`,
    );
  }

  #lookButton(queue) {
    const label = `Look into ${queue.name}`;
    const button = element("button", { type: "button", "aria-label": label }, "Look");
    button.addEventListener("click", () =>
      this.#notice.during(button, async () => {
        const messages = await peek(queue.vhost, queue.name, LOOK);
        this.#messages.hidden = false;
        replace(
          this.#messages,
          element("h2", {}, `First messages of ${queue.name}`),
          messages.map((message, index) => messageCard(message, index + 1)),
        );
        return `${counted(messages.length, "message")} of ${queue.name} shown.`;
      }),
    );
    return button;
  }
}

async function allQueues(missing) {
  const queues = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const answer = await ask(
      withQuery(path("queues"), { page, page_size: PAGE_SIZE, columns: COLUMNS }),
      { missing },
    );
    queues.push(...answer.items);
    if (page >= answer.page_count) return { queues, complete: true };
  }
  return { queues, complete: false };
}

function sources(names) {
  const more = names.length - SHOWN_SOURCES;
  const shown = names.slice(0, SHOWN_SOURCES).join(", ");
  return more > 0 ? `${shown} and ${count(more)} more` : shown;
}
