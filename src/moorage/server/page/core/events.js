/** Server-sent events out of a stream of text. */

/** @typedef {{ kind: string, data: string, id: string }} ServerEvent */

/** Takes pieces of the stream as they come, gives whole events. */
export class EventReader {
  #rest = "";
  #kind = "message";
  /** @type {string[]} */
  #data = [];
  #id = "";

  /**
   * @param {string} piece
   * @returns {ServerEvent[]}
   */
  read(piece) {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = /** @type {string} */ (lines.pop());
    /** @type {ServerEvent[]} */
    const events = [];
    for (const line of lines) {
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) events.push(event);
    }
    return events;
  }

  /**
   * @param {string} line
   * @returns {ServerEvent | null}
   */
  #line(line) {
    if (line === "") {
      const event = { kind: this.#kind, data: this.#data.join("\n"), id: this.#id };
      const isWhole = this.#data.length > 0;
      this.#kind = "message";
      this.#data = [];
      return isWhole ? event : null;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#kind = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    return null;
  }
}
