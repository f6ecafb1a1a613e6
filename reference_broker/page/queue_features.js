/** What a queue is and does, in words, from its arguments and its policy. Pure. */

import { bytes, count, duration } from "./format.js";

const WORDS = {
  "message-ttl": (ms) => `messages live ${time(ms)}`,
  expires: (ms) => `deleted when unused for ${time(ms)}`,
  "max-length": (most) => `at most ${count(most)} ready`,
  "max-length-bytes": (most) => `at most ${bytes(most)} ready`,
  overflow: (how) => OVERFLOW[how],
  "max-priority": (most) => `priorities 0 to ${most}`,
  "dead-letter-exchange": (name) => `dead letters to ${name || "the default exchange"}`,
  "dead-letter-routing-key": (key) => `dead letters with key ${key}`,
  "single-active-consumer": (on) => on && "one active consumer",
  "delivery-limit": (most) => `at most ${count(most)} failed deliveries`,
  "consumer-timeout": (ms) => `acks within ${time(ms)}`,
};

const OVERFLOW = {
  "reject-publish": "refuses when full",
  "reject-publish-dlx": "refuses when full, and dead-letters what it refuses",
};

/** A list of short phrases, the same order for every queue. */
export function queueFeatures(queue) {
  const limits = { ...queue.effective_policy_definition };
  for (const [name, value] of Object.entries(queue.arguments ?? {})) {
    if (name.startsWith("x-")) limits[name.slice(2)] = value;
  }
  const words = [
    queue.durable ? "durable" : "gone after a restart",
    queue.type && queue.type !== "classic" && queue.type,
    queue.exclusive && "exclusive",
    queue.auto_delete && "deleted with its last consumer",
  ];
  for (const [name, say] of Object.entries(WORDS)) {
    if (limits[name] !== undefined) words.push(say(limits[name]));
  }
  if (queue.policy) words.push(`policy ${queue.policy}`);
  return words.filter(Boolean);
}

function time(ms) {
  return ms > 0 && ms < 1000 ? `${count(ms)} ms` : duration(ms);
}
