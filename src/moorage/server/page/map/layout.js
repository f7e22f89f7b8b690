/** Where each node's cell is: one block of cells per group, blocks side by side, cells as large as fit. */

/** Room above and between blocks: as much as leaves cells that can be seen. @type {Room[]} */
const ROOMS = [
  { label: 20, gap: 14 },
  { label: 0, gap: 6 },
  { label: 0, gap: 2 },
  { label: 0, gap: 0 },
];
const LARGE_ENOUGH = 7;
const LARGEST = 64;
const SMALLEST = 1.5;

/**
 * @typedef {{ name: string, rows: number[] }} Group
 * @typedef {{ label: number, gap: number }} Room
 * @typedef {{ name: string, rows: number[], x: number, y: number, width: number, height: number }} Block
 *
 * @typedef {object} Layout
 * @property {number} cell side of a cell, its gap included
 * @property {number} columns cells beside each other in a block
 * @property {Block[]} blocks
 * @property {Float32Array} x by row of the node
 * @property {Float32Array} y
 * @property {number} width
 * @property {number} height
 */

/**
 * @param {Group[]} groups
 * @param {number} nodes how many there are
 * @param {number} width
 * @param {number} height
 * @returns {Layout}
 */
export function layOut(groups, nodes, width, height) {
  const isOne = groups.length === 1 && groups[0]?.name === "";
  let best = { cell: 0, beside: 1, columns: 1, room: /** @type {Room} */ ({ label: 0, gap: 0 }) };
  for (const each of ROOMS) {
    const room = isOne ? { ...each, label: 0 } : each;
    for (const beside of candidates(groups.length)) {
      const found = largestCell(groups, beside, room, width, height);
      if (found.cell > best.cell) best = { ...found, beside, room };
    }
    if (best.cell >= LARGE_ENOUGH) break;
  }
  return placed(groups, nodes, width, height, best);
}

/**
 * How many blocks to try beside each other.
 * @param {number} groups
 */
function candidates(groups) {
  const most = Math.min(groups, 160);
  const step = Math.max(1, Math.floor(most / 40));
  return Array.from({ length: Math.ceil(most / step) }, (_, place) => 1 + place * step);
}

/**
 * @param {Group[]} groups
 * @param {number} beside
 * @param {Room} around
 * @param {number} width
 * @param {number} height
 */
function largestCell(groups, beside, around, width, height) {
  const room = (width - around.gap * (beside - 1)) / beside;
  let [low, high] = [0, Math.min(LARGEST, room)];
  for (let turn = 0; turn < 14; turn += 1) {
    const cell = (low + high) / 2;
    const columns = Math.floor(room / cell);
    if (columns >= 1 && heightOf(groups, beside, around, columns, cell) <= height) low = cell;
    else high = cell;
  }
  const cell = low >= 6 ? Math.floor(low) : low;
  return { cell, columns: Math.max(1, Math.floor(room / Math.max(cell, SMALLEST))) };
}

/**
 * @param {Group[]} groups
 * @param {number} beside
 * @param {Room} around
 * @param {number} columns
 * @param {number} cell
 */
function heightOf(groups, beside, { label, gap }, columns, cell) {
  let height = -gap;
  for (let first = 0; first < groups.length; first += beside) {
    let most = 0;
    for (let place = first; place < Math.min(groups.length, first + beside); place += 1) {
      most = Math.max(most, groups[place]?.rows.length ?? 0);
    }
    height += label + Math.ceil(most / columns) * cell + gap;
  }
  return height;
}

/**
 * @param {Group[]} groups
 * @param {number} nodes
 * @param {number} width
 * @param {number} height
 * @param {{ cell: number, beside: number, columns: number, room: Room }} chosen
 * @returns {Layout}
 */
function placed(groups, nodes, width, height, chosen) {
  const {
    beside,
    columns,
    room: { label, gap },
  } = chosen;
  const cell = chosen.cell || SMALLEST;
  const [x, y] = [new Float32Array(nodes), new Float32Array(nodes)];
  const most = Math.max(1, ...groups.map((group) => group.rows.length));
  const used = Math.min(columns, most);
  let top = 0;
  /** @type {Block[]} */
  const blocks = [];
  for (let first = 0; first < groups.length; first += beside) {
    let lines = 0;
    groups.slice(first, first + beside).forEach(({ name, rows }, place) => {
      const left = place * (used * cell + gap);
      rows.forEach((row, index) => {
        x[row] = left + (index % used) * cell;
        y[row] = top + label + Math.floor(index / used) * cell;
      });
      const high = Math.ceil(rows.length / used);
      lines = Math.max(lines, high);
      blocks.push({
        name: label ? name : "",
        rows,
        x: left,
        y: top + label,
        width: used * cell,
        height: high * cell,
      });
    });
    top += label + lines * cell + gap;
  }
  return { cell, columns: used, blocks, x, y, width, height: Math.max(height, top - gap) };
}

/**
 * The node at a place of the layout, -1 for none.
 * @param {Layout} layout
 * @param {number} x
 * @param {number} y
 */
export function rowAt(layout, x, y) {
  for (const block of layout.blocks) {
    if (x < block.x || x >= block.x + block.width || y < block.y || y >= block.y + block.height) continue;
    const place =
      Math.floor((y - block.y) / layout.cell) * layout.columns + Math.floor((x - block.x) / layout.cell);
    return block.rows[place] ?? -1;
  }
  return -1;
}

/**
 * The nearest node in a direction, the same node if there is none.
 * @param {Layout} layout
 * @param {number} from
 * @param {number} right -1, 0 or 1
 * @param {number} down -1, 0 or 1
 */
export function neighbour(layout, from, right, down) {
  const { x, y, cell } = layout;
  let [best, nearest] = [from, Infinity];
  for (let row = 0; row < x.length; row += 1) {
    const along = ((x[row] ?? 0) - (x[from] ?? 0)) * right + ((y[row] ?? 0) - (y[from] ?? 0)) * down;
    if (along < cell / 2) continue;
    const aside =
      Math.abs(((x[row] ?? 0) - (x[from] ?? 0)) * down) + Math.abs(((y[row] ?? 0) - (y[from] ?? 0)) * right);
    const distance = along + aside * 4;
    if (distance < nearest) [best, nearest] = [row, distance];
  }
  return best;
}
