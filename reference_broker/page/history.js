/** The last minute of some numbers, and rates from counters. Pure: the time is handed in. */

export const WINDOW_MS = 60000;

/** Samples in order of time; those older than the window are dropped. */
export class History {
  #samples = [];

  add(at, values) {
    this.#samples.push({ at, values });
    const kept = this.#samples.findIndex((sample) => sample.at >= at - WINDOW_MS);
    this.#samples.splice(0, kept);
  }

  get latest() {
    return this.#samples.at(-1) ?? null;
  }

  /** `{at, value}` of each sample that has a number called `name`. */
  points(name) {
    return this.#samples
      .filter((sample) => Number.isFinite(sample.values[name]))
      .map((sample) => ({ at: sample.at, value: sample.values[name] }));
  }
}

/**
 * Rates of counters, from one answer of the API to the next. Where the broker has sampled a rate
 * itself (`publish_details.rate`), that one counts.
 */
export class Rates {
  #before = null;

  /** Events a second by counter name; undefined for one that is not known (yet). */
  of(at, stats, names) {
    const before = this.#before;
    const counters = {};
    const rates = {};
    for (const name of names) {
      const total = stats?.[name];
      const sampled = stats?.[`${name}_details`]?.rate;
      counters[name] = total;
      if (Number.isFinite(sampled)) rates[name] = sampled;
      else if (before !== null && at > before.at) {
        // A counter that fell belongs to another life of the broker or of the queue.
        const grown = total - before.counters[name];
        if (grown >= 0) rates[name] = (grown * 1000) / (at - before.at);
      }
    }
    if (before === null || at > before.at) this.#before = { at, counters };
    return rates;
  }
}
