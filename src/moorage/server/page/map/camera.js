/** Which part of the map is in sight. */

const CLOSEST = 40;

export class Camera {
  zoom = 1;
  x = 0;
  y = 0;

  /**
   * Comes closer (or goes back) with one point of the screen held in place.
   * @param {number} factor
   * @param {number} screenX
   * @param {number} screenY
   * @param {number} width
   * @param {number} height
   */
  zoomAt(factor, screenX, screenY, width, height) {
    const zoom = Math.max(1, Math.min(CLOSEST, this.zoom * factor));
    const ratio = zoom / this.zoom;
    this.x = screenX - (screenX - this.x) * ratio;
    this.y = screenY - (screenY - this.y) * ratio;
    this.zoom = zoom;
    this.#keepInside(width, height);
  }

  /**
   * @param {number} right
   * @param {number} down
   * @param {number} width
   * @param {number} height
   */
  pan(right, down, width, height) {
    this.x += right;
    this.y += down;
    this.#keepInside(width, height);
  }

  reset() {
    [this.zoom, this.x, this.y] = [1, 0, 0];
  }

  /**
   * Moves just so far that a cell is in sight.
   * @param {number} x
   * @param {number} y
   * @param {number} cell
   * @param {number} width
   * @param {number} height
   */
  reveal(x, y, cell, width, height) {
    const margin = Math.min(40, width / 4);
    const [left, top] = [x * this.zoom + this.x, y * this.zoom + this.y];
    const side = cell * this.zoom;
    const shift = (/** @type {number} */ low, /** @type {number} */ room) =>
      low < margin ? margin - low : low + side > room - margin ? room - margin - low - side : 0;
    if (this.zoom > 1) this.pan(shift(left, width), shift(top, height), width, height);
  }

  /**
   * @param {number} width
   * @param {number} height
   */
  #keepInside(width, height) {
    this.x = Math.min(0, Math.max(width - width * this.zoom, this.x));
    this.y = Math.min(0, Math.max(height - height * this.zoom, this.y));
  }
}
