/**
 * What an entry of a message's x-death header says, as a sentence. Pure.
 *
 * An entry is one (queue, reason), and counts; its time and keys are those of its first time, its
 * exchange and keys say how the message had come to the queue.
 */

import { counted, moment } from "./format.js";

const HOW = {
  rejected: (queue) => `Rejected by a consumer of ${queue}`,
  expired: (queue) => `Expired in ${queue}`,
  maxlen: (queue) => `Dropped by the length limit of ${queue}`,
  delivery_limit: (queue) => `Delivered too often from ${queue}`,
};

/** "Rejected by a consumer of orders 3 times, first on 2026-11-20 16:02 UTC; it was published to
 *  exchange shop with key order.new." */
export function deathSentence(death) {
  const often = Number(death.count ?? 1);
  const queue = named(death.queue, "an unnamed queue");
  const reason = HOW[death.reason];
  const how =
    reason === undefined
      ? `Left ${queue} for the reason ${named(death.reason, "that nobody gave")}`
      : reason(queue);
  const times = often === 1 ? "once" : counted(often, "time");
  const published = `it was published ${where(death)}${ttl(death)}`;
  return `${how} ${times}${when(death.time, often)}; ${published}.`;
}

/** The sentences of a message's x-death header, newest first; none for a header of another make. */
export function deathSentences(headers) {
  const deaths = headers?.["x-death"];
  if (!Array.isArray(deaths)) return [];
  return deaths.filter((death) => death !== null && typeof death === "object").map(deathSentence);
}

function when(seconds, often) {
  if (!Number.isFinite(seconds)) return "";
  return `${often === 1 ? " on" : ", first on"} ${moment(seconds * 1000)}`;
}

function where(death) {
  const exchange = death.exchange ? `exchange ${death.exchange}` : "the default exchange";
  const keys = Array.isArray(death["routing-keys"]) ? death["routing-keys"].map(String) : [];
  if (keys.length === 0) return `to ${exchange}`;
  const shown = keys.map((key) => (key === "" ? "(empty)" : key)).join(", ");
  return `to ${exchange} with ${keys.length === 1 ? "key" : "keys"} ${shown}`;
}

function ttl(death) {
  const limit = death["original-expiration"];
  return limit === undefined ? "" : `, to live for ${limit} ms`;
}

function named(name, otherwise) {
  return name === undefined || name === null || name === "" ? otherwise : String(name);
}
