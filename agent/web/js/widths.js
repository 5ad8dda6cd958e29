/** The widths of a table's columns, changed with the pointer or the arrow keys. */

import { make } from "./dom.js";
import { say } from "./language.js";

const STEP = 16;
const LEAST = 64;
const MOST = 1200;

/** Return the separator at the end of `cell`, the header of the column `name`. */
export function widthSeparator(cell, name) {
  const separator = make("span", { class: "separator", role: "separator", tabindex: 0, "aria-orientation": "vertical",
    "aria-valuemin": LEAST, "aria-valuemax": MOST, "aria-valuenow": LEAST });
  say(separator, "column_width", { name }, "aria-label");
  say(separator, "column_width_keys", {}, "title");
  separator.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (steps) setWidth(cell, cell.offsetWidth + steps);
    else if (event.key === "Home") setWidth(cell, LEAST);
    else if (event.key === "Enter") unset(cell);
    else return;
    event.preventDefault();
  });
  separator.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    separator.setPointerCapture(event.pointerId);
    const start = cell.offsetWidth - event.clientX;
    const move = ({ clientX }) => setWidth(cell, start + clientX);
    separator.addEventListener("pointermove", move);
    separator.addEventListener("lostpointercapture", () => separator.removeEventListener("pointermove", move), { once: true });
  });
  separator.addEventListener("dblclick", () => unset(cell));
  new ResizeObserver(() => separator.setAttribute("aria-valuenow", String(cell.offsetWidth))).observe(cell);
  return separator;
}

/** Set the width of one column; the others keep theirs, and the table is as wide as all of them. */
function setWidth(cell, wanted) {
  const widths = new Map([...cell.parentElement.cells].map((each) => [each, each.offsetWidth]));
  widths.set(cell, Math.round(Math.min(MOST, Math.max(LEAST, wanted))));
  const table = cell.closest("table");
  table.classList.add("fixed");
  table.style.width = `${[...widths.values()].reduce((sum, width) => sum + width, 0)}px`;
  for (const [each, width] of widths) each.style.width = `${width}px`;
}

/** Let the contents determine the widths of all columns again. */
function unset(cell) {
  const table = cell.closest("table");
  table.classList.remove("fixed");
  for (const each of [table, ...cell.parentElement.cells]) each.style.width = "";
}
