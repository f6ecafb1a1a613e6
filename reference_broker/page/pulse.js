/** The broker's totals, asked for again and again, and their last minute. */

import { ask, path } from "./api.js";
import { History, Rates } from "./history.js";

export const TOTAL_RATES = ["publish", "confirm", "deliver_get", "ack"];

export class Pulse {
  history = new History();
  overview = null;
  #rates = new Rates();

  async refresh() {
    this.overview = await ask(path("overview"));
    const now = Date.now();
    const rates = this.#rates.of(now, this.overview.message_stats, TOTAL_RATES);
    const { messages_ready: ready, messages_unacknowledged: unacked } =
      this.overview.queue_totals ?? {};
    this.history.add(now, { ...rates, ready, unacked });
  }
}
