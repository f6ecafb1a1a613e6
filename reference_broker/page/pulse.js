/** The broker's totals, asked for again and again, and their last minute; the members of its
 *  cluster, where it is a node of one. */

import { ApiFailure, ask, path } from "./api.js";
import { History, Rates } from "./history.js";

export const TOTAL_RATES = ["publish", "confirm", "deliver_get", "ack"];

export class Pulse {
  history = new History();
  overview = null;
  members = null; // of the cluster; null for a broker on its own, and for who may not see them
  #rates = new Rates();
  #maySeeMembers = true;

  async refresh(missing) {
    this.overview = await ask(path("overview"));
    missing.add(this.overview.unreachable ?? []);
    const now = Date.now();
    const rates = this.#rates.of(now, this.overview.message_stats, TOTAL_RATES);
    const { messages_ready: ready, messages_unacknowledged: unacked } =
      this.overview.queue_totals ?? {};
    this.history.add(now, { ...rates, ready, unacked });
    this.members = await this.#members();
  }

  /** True where rows may be of another node. */
  get hasPeers() {
    return this.members === null ? this.#isOfCluster : this.members.length > 1;
  }

  /** Only a node of a cluster says who could not be asked. */
  get #isOfCluster() {
    return this.overview?.unreachable !== undefined;
  }

  async #members() {
    if (!this.#isOfCluster || !this.#maySeeMembers) return null;
    try {
      return (await ask(path("cluster", "status"))).members;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 401) throw error;
      this.#maySeeMembers = false; // only a monitoring user may
      return null;
    }
  }
}
