/** All queues, as a table: filtered, sorted and paged by the API, so that 10,000 are no trouble. */

import { ApiFailure, ask, path, withQuery } from "./api.js";
import { element, setText } from "./element.js";
import { field } from "./field.js";
import { count, counted, rate } from "./format.js";
import { Rates } from "./history.js";
import { nodeWords } from "./nodes.js";
import { queueFeatures } from "./queue_features.js";
import { Table } from "./table.js";

const PAGE_SIZE = 50;
const RATES = ["publish", "deliver_get", "ack"];
const COLUMNS = [
  "name", "vhost", "type", "durable", "exclusive", "auto_delete", "arguments", "policy",
  "effective_policy_definition", "messages_ready", "messages_unacknowledged", "consumers",
  "message_stats", "node", "state",
].join();

export function queueLink({ vhost, name }) {
  const address = `#/queues/${encodeURIComponent(vhost)}/${encodeURIComponent(name)}`;
  return element("a", { href: address }, name);
}

const keyOf = ({ vhost, name }) => JSON.stringify([vhost, name]);

export class QueuesView {
  title = "Queues";
  #page = 1;
  #name = "";
  #sort = "name";
  #descending = false;
  #rates = new Map();
  #asked = 0;
  #table;
  #summary = element("p", { class: "quiet", role: "status" });
  #previous = this.#step("Previous", -1);
  #next = this.#step("Next", 1);

  constructor(pulse) {
    const filter = element("input", { type: "search", spellcheck: "false" });
    filter.addEventListener("input", () => this.#change({ name: filter.value, page: 1 }));
    this.#table = new Table(
      "Queues",
      [
        { title: "Name", sort: "name", make: queueLink },
        { title: "Virtual host", sort: "vhost", text: (row) => row.vhost },
        { title: "Node", sort: "node", text: nodeWords, shown: () => pulse.hasPeers },
        { title: "Features", text: (row) => queueFeatures(row).join(", ") },
        number("Ready", "messages_ready", (row) => count(row.messages_ready)),
        number("Unacked", "messages_unacknowledged", (row) => count(row.messages_unacknowledged)),
        number("In", "message_stats.publish", (row) => rate(row.rates.publish)),
        number("Out", "message_stats.deliver_get", (row) => rate(row.rates.deliver_get)),
        number("Acked", "message_stats.ack", (row) => rate(row.rates.ack)),
        number("Consumers", "consumers", (row) => count(row.consumers)),
      ],
      keyOf,
      { onSort: (by) => this.#sortBy(by), empty: "No queue, or none with such a name." },
    );
    this.element = element(
      "div",
      {},
      element("h1", {}, this.title),
      element("div", { class: "tools" }, field("Name contains", filter), this.#summary),
      this.#table.element,
      element("p", { class: "actions" }, this.#previous, this.#next),
    );
  }

  async refresh(missing) {
    this.#asked += 1;
    const asked = this.#asked;
    const answer = await this.#ask(missing);
    if (asked !== this.#asked) return; // another filter or page is on its way
    const now = Date.now();
    const rates = new Map();
    for (const row of answer.items) {
      const known = this.#rates.get(keyOf(row)) ?? new Rates();
      rates.set(keyOf(row), known);
      row.rates = known.of(now, row.message_stats, RATES);
    }
    this.#rates = rates;
    this.#table.fill(answer.items);
    this.#table.sorted(this.#sort, this.#descending);
    const pages = Math.max(1, answer.page_count);
    setText(
      this.#summary,
      `${counted(answer.filtered_count, "queue")} of ${count(answer.total_count)},` +
        ` page ${this.#page} of ${pages}`,
    );
    this.#previous.disabled = this.#page <= 1;
    this.#next.disabled = this.#page >= pages;
  }

  async #ask(missing) {
    try {
      return await ask(
        withQuery(path("queues"), {
          page: this.#page,
          page_size: PAGE_SIZE,
          name: this.#name,
          sort: this.#sort,
          sort_reverse: this.#descending ? "true" : "",
          columns: COLUMNS,
        }),
        { missing },
      );
    } catch (error) {
      // The last page may have gone, with its queues.
      if (!(error instanceof ApiFailure) || error.status !== 400 || this.#page === 1) throw error;
      this.#page = 1;
      return this.#ask(missing);
    }
  }

  #sortBy(by) {
    this.#descending = this.#sort === by && !this.#descending;
    this.#sort = by;
    this.#change({ page: 1 });
  }

  #step(words, step) {
    const press = () => this.#change({ page: this.#page + step });
    return element("button", { type: "button", disabled: true, click: press }, words);
  }

  #change({ name = this.#name, page }) {
    this.#name = name;
    this.#page = page;
    this.element.dispatchEvent(new Event("refresh", { bubbles: true }));
  }
}

function number(title, sort, text) {
  return { title, sort, text, number: true };
}
