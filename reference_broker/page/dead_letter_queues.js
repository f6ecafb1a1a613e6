/** Which queues get dead letters, and whose: worked out from the topology. Pure. */

const ARGUMENTS = ["x-dead-letter-exchange", "x-dead-letter-routing-key"];
const POLICY_KEYS = ["dead-letter-exchange", "dead-letter-routing-key"];

/** Where a queue sends its dead letters: `{exchange, key}`, the key undefined for the message's
 *  own. null for a queue that has no dead-letter exchange. An argument counts before a policy. */
export function deadLetterTarget(queue) {
  const policy = queue.effective_policy_definition ?? {};
  const [exchange, key] = ARGUMENTS.map(
    (name, index) => queue.arguments?.[name] ?? policy[POLICY_KEYS[index]],
  );
  return exchange === undefined ? null : { exchange, key };
}

/**
 * The queues that dead letters of others can reach, each with the names of those others, in the
 * order of `queues`. A binding counts whatever its key is: which of them a message takes depends on
 * the message. All are of one virtual host or of several, as they carry their `vhost`.
 */
export function deadLetterQueues(queues, bindings) {
  const sources = new Map();
  for (const queue of queues) {
    const target = deadLetterTarget(queue);
    if (target === null) continue;
    for (const name of reached(queue, target, bindings)) {
      const place = JSON.stringify([queue.vhost, name]);
      if (!sources.has(place)) sources.set(place, []);
      sources.get(place).push(queue.name);
    }
  }
  return queues
    .map((queue) => ({ queue, from: sources.get(JSON.stringify([queue.vhost, queue.name])) }))
    .filter(({ from }) => from !== undefined);
}

function reached(queue, { exchange, key }, bindings) {
  if (exchange === "") return [key ?? queue.name];
  const queues = new Set();
  const exchanges = new Set([exchange]);
  for (const source of exchanges) {
    for (const binding of bindings) {
      if (binding.vhost !== queue.vhost || binding.source !== source) continue;
      if (binding.destination_type === "queue") queues.add(binding.destination);
      else exchanges.add(binding.destination);
    }
  }
  return queues;
}
