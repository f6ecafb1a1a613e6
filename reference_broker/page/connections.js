/** Who is connected, and with what; closing a connection. */

import { ApiFailure, ask, path, withQuery } from "./api.js";
import { confirm } from "./dialog.js";
import { element, setText } from "./element.js";
import { field } from "./field.js";
import { bytes, count, counted, moment, value } from "./format.js";
import { nodeWords } from "./nodes.js";
import { Notice } from "./notice.js";
import { Table } from "./table.js";

const PAGE_SIZE = 100;

/** "pika 1.4.0 on Python 3.11", from the properties that a client sends at its login. Pure. */
export function clientWords(properties = {}) {
  const { product, version, platform } = properties;
  const client = [product, version].filter(Boolean).map(value).join(" ") || "unnamed client";
  return platform ? `${client} on ${value(platform)}` : client;
}

export class ConnectionsView {
  title = "Connections";
  #pulse;
  #name = "";
  #notice = new Notice();
  #summary = element("p", { class: "quiet", role: "status" });
  #table = new Table(
    "Connections",
    [
      { title: "Name", text: (row) => row.user_provided_name ?? row.name },
      { title: "From", text: (row) => `${row.peer_host}:${row.peer_port}` },
      { title: "Client", text: (row) => clientWords(row.client_properties) },
      { title: "User", text: (row) => row.user },
      { title: "Virtual host", text: (row) => row.vhost },
      { title: "Node", text: nodeWords, shown: () => this.#pulse.hasPeers },
      { title: "State", text: (row) => `${row.state}${row.ssl ? ", TLS" : ""}` },
      { title: "Since", text: (row) => moment(row.connected_at) },
      { title: "Channels", text: (row) => count(row.channels), number: true },
      { title: "Received", text: (row) => bytes(row.recv_oct), number: true },
      { title: "Sent", text: (row) => bytes(row.send_oct), number: true },
      { title: "Close", make: (row) => this.#closeButton(row) },
    ],
    (row) => row.name,
    { empty: "Nobody is connected." },
  );

  constructor(pulse) {
    this.#pulse = pulse;
    const filter = element("input", { type: "search", spellcheck: "false" });
    filter.addEventListener("input", () => {
      this.#name = filter.value;
      this.element.dispatchEvent(new Event("refresh", { bubbles: true }));
    });
    this.element = element(
      "div",
      {},
      element("h1", {}, this.title),
      element("div", { class: "tools" }, field("Address contains", filter), this.#summary),
      this.#notice.element,
      this.#table.element,
    );
  }

  async refresh(missing) {
    const name = this.#name;
    const answer = await ask(
      withQuery(path("connections"), { page: 1, page_size: PAGE_SIZE, name }),
      { missing },
    );
    if (name !== this.#name) return;
    this.#table.fill(answer.items);
    const shown = answer.items.length;
    const all = counted(answer.filtered_count, "connection");
    const some = shown < answer.filtered_count;
    setText(this.#summary, some ? `${all}, the first ${shown} shown` : all);
  }

  #closeButton(row) {
    const words = row.user_provided_name ?? row.name;
    const label = `Close ${words}`;
    const button = element("button", { type: "button", class: "danger", "aria-label": label });
    button.append("Close …");
    button.addEventListener("click", () => this.#close(button, row.name, words));
    return button;
  }

  async #close(button, name, words) {
    const reason = await confirm({
      title: "Close this connection?",
      text: `${words} gets a connection.close; what it has not acked is delivered again.`,
      label: "Reason, which the client and the log are told",
      doIt: "Close",
    });
    if (reason === null) return;
    await this.#notice.during(button, async () => {
      try {
        await ask(path("connections", name), {
          method: "DELETE",
          headers: reason === "" ? {} : { "x-reason": latin1(reason) },
        });
      } catch (error) {
        if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
        return `${words} had gone already.`;
      }
      return `${words} was closed.`;
    });
    this.element.dispatchEvent(new Event("refresh", { bubbles: true }));
  }
}

/** A header's value has no other characters (RFC 9110, 5.5). */
function latin1(text) {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/gu, "?");
}
