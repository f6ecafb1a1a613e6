/** Publishing one message straight into a queue, by the default exchange. */

import { ask, path } from "./api.js";
import { element } from "./element.js";
import { field } from "./field.js";
import { Notice } from "./notice.js";

const DEFAULT_EXCHANGE = "amq.default"; // what paths call the exchange without a name

/** Lines of `name: value` as an object of texts; empty lines count for nothing. Throws an Error
 *  that names the first line that is something else. */
export function headersOf(text) {
  const headers = {};
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim();
    if (colon < 0 || name === "")
      throw new Error(`“${line}” is not a header: write name: value.`);
    headers[name] = line.slice(colon + 1).trim();
  }
  return headers;
}

export class PublishPanel {
  #payload = element("textarea", { rows: "4" });
  #encoding = element(
    "select",
    {},
    element("option", { value: "string" }, "text"),
    element("option", { value: "base64" }, "base64"),
  );
  #contentType = element("input", { placeholder: "application/json", spellcheck: "false" });
  #headers = element("textarea", { rows: "2", spellcheck: "false" });
  #persistent = element("input", { type: "checkbox", checked: true });
  #notice = new Notice();

  constructor(vhost, name) {
    const send = element("button", { type: "submit" }, "Publish");
    const submit = (event) => {
      event.preventDefault();
      this.#notice.during(send, () => this.#publish(vhost, name));
    };
    this.element = element(
      "details",
      { class: "panel" },
      element("summary", {}, "Publish a message"),
      element(
        "form",
        { submit },
        field("Payload", this.#payload),
        field("Payload is", this.#encoding),
        field("Content type", this.#contentType),
        field("Headers", this.#headers, "One a line, as name: value."),
        field("Persistent: survives a restart in a durable queue", this.#persistent),
        send,
      ),
      this.#notice.element,
    );
  }

  async #publish(vhost, name) {
    const properties = { delivery_mode: this.#persistent.checked ? 2 : 1 };
    const contentType = this.#contentType.value.trim();
    if (contentType !== "") properties.content_type = contentType;
    const headers = headersOf(this.#headers.value);
    if (Object.keys(headers).length > 0) properties.headers = headers;
    const { routed } = await ask(path("exchanges", vhost, DEFAULT_EXCHANGE, "publish"), {
      method: "POST",
      body: {
        properties,
        routing_key: name,
        payload: this.#payload.value,
        payload_encoding: this.#encoding.value,
      },
    });
    if (!routed) throw new Error("Not routed: the queue is gone.");
    return "Published: the message is in the queue.";
  }
}
