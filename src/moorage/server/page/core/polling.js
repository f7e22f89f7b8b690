/** Asks again and again while a view is in sight; what was asked before and is still under way is given up. */

import { isAborted } from "../widgets/notice.js";

export class Polling {
  #timer = 0;
  #asking = new AbortController();
  #isOn = false;

  /**
   * @param {number} seconds between an answer and the next question
   * @param {(signal: AbortSignal) => Promise<void>} ask
   * @param {(error: unknown) => void} onFailure
   */
  constructor(seconds, ask, onFailure) {
    this.seconds = seconds;
    this.ask = ask;
    this.onFailure = onFailure;
  }

  /** Asks now, and from now on. */
  start() {
    this.#isOn = true;
    void this.#turn();
  }

  stop() {
    this.#isOn = false;
    clearTimeout(this.#timer);
    this.#asking.abort();
  }

  async #turn() {
    clearTimeout(this.#timer);
    this.#asking.abort();
    const { signal } = (this.#asking = new AbortController());
    try {
      await this.ask(signal);
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      this.onFailure(error);
    }
    if (this.#isOn && !signal.aborted) this.#timer = setTimeout(() => this.#turn(), this.seconds * 1000);
  }
}
