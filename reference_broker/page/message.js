/** One message that was got from a queue: where from, its properties, its headers, its payload. */

import { deathSentences } from "./death.js";
import { element } from "./element.js";
import { bytes, moment, value } from "./format.js";
import { pairs } from "./table.js";

const DELIVERY_MODES = { 1: "transient", 2: "persistent" };

export function messageCard(message, number) {
  const { headers = {}, ...properties } = Array.isArray(message.properties)
    ? {} // RabbitMQ's word for none
    : message.properties;
  const deaths = deathSentences(headers);
  const { "x-death": history, ...others } = headers;
  const shown = deaths.length > 0 ? others : headers;
  return element(
    "article",
    { class: "message" },
    element(
      "h3",
      {},
      `Message ${number}`,
      message.redelivered && element("span", { class: "tag" }, "redelivered"),
    ),
    element("p", {}, route(message)),
    deaths.length > 0 && [
      element("h4", {}, "Why it is here"),
      element("ol", { class: "deaths" }, deaths.map((sentence) => element("li", {}, sentence))),
    ],
    element(
      "div",
      { class: "sides" },
      pairs("Properties", Object.entries(properties).map(propertyRow)),
      pairs("Headers", Object.entries(shown).map(([name, any]) => [name, value(any)])),
    ),
    payload(message),
  );
}

function route({ exchange, routing_key: key }) {
  const from = exchange === "" ? "the default exchange" : `exchange ${exchange}`;
  return `Came from ${from} with key ${key === "" ? "(empty)" : key}.`;
}

function propertyRow([name, any]) {
  if (name === "delivery_mode") return [name, `${any} (${DELIVERY_MODES[any] ?? "unknown"})`];
  if (name === "timestamp") return [name, `${any} (${moment(any * 1000)})`];
  return [name, value(any)];
}

function payload(message) {
  const encoded = message.payload_encoding === "base64";
  const size = `${bytes(message.payload_bytes)}${encoded ? ", shown in base64" : ""}`;
  const shown = encoded ? atob(message.payload).length : utf8Length(message.payload);
  const cut = shown < message.payload_bytes ? `; the first ${bytes(shown)} are shown` : "";
  return [
    element("h4", {}, "Payload ", element("span", { class: "quiet" }, `(${size}${cut})`)),
    element("pre", { tabindex: "0" }, message.payload),
  ];
}

function utf8Length(text) {
  return new TextEncoder().encode(text).length;
}
