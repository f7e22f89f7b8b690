/** The live stream, read with fetch (which can say who asks); opened anew, ever later, when it is cut. */

import { Refused, request } from "./api.js";
import { EventReader } from "./events.js";

const SHORTEST_WAIT = 0.5;
const LONGEST_WAIT = 15;
const SILENCE = 40; // seconds; the server says something every 15

/**
 * @typedef {{ is: "connecting" } | { is: "live" } | { is: "cut", why: string, until: number } | { is: "refused", why: string }} Connection
 */

export class Stream {
  /**
   * @param {(kind: string, data: any) => void} onEvent
   * @param {(connection: Connection) => void} onConnection
   */
  constructor(onEvent, onConnection) {
    this.onEvent = onEvent;
    this.onConnection = onConnection;
    this.newest = "";
    this.wait = SHORTEST_WAIT;
    this.stopped = new AbortController();
  }

  start() {
    this.stop();
    this.stopped = new AbortController();
    void this.#run(this.stopped.signal);
  }

  stop() {
    this.stopped.abort();
  }

  /**
   * Reads until stopped, or until the server says that this token may not.
   * @param {AbortSignal} stopped
   */
  async #run(stopped) {
    while (!stopped.aborted) {
      this.onConnection({ is: "connecting" });
      let why = "the scheduler closed it";
      try {
        await this.#read(stopped);
      } catch (error) {
        if (stopped.aborted) return;
        if (error instanceof Refused && (error.code === 401 || error.code === 403)) {
          this.onConnection({ is: "refused", why: error.message });
          return;
        }
        why = error instanceof Refused ? `it answered ${error.code || "nothing"}` : "the connection broke";
      }
      if (stopped.aborted) return;
      const seconds = this.wait * (0.75 + Math.random() / 2);
      this.wait = Math.min(LONGEST_WAIT, this.wait * 2);
      this.onConnection({ is: "cut", why, until: Date.now() / 1000 + seconds });
      await pause(seconds);
    }
  }

  /** @param {AbortSignal} stopped */
  async #read(stopped) {
    const silent = new AbortController();
    const signal = either(stopped, silent.signal);
    const response = await request(
      "stream",
      { since: this.newest },
      { signal, headers: { Accept: "text/event-stream" } },
    );
    if (!response.body) return;
    this.onConnection({ is: "live" });
    this.wait = SHORTEST_WAIT;
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const timer = setTimeout(() => silent.abort(), SILENCE * 1000);
      const { done, value } = await pieces.read().finally(() => clearTimeout(timer));
      if (done) return;
      for (const event of events.read(value)) {
        if (event.id) this.newest = event.id;
        this.onEvent(event.kind, JSON.parse(event.data));
      }
    }
  }
}

/** @param {number} seconds */
function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

/**
 * @param {AbortSignal} one
 * @param {AbortSignal} other
 */
function either(one, other) {
  const both = new AbortController();
  for (const signal of [one, other]) signal.addEventListener("abort", () => both.abort(), { once: true });
  return both.signal;
}
