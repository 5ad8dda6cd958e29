/** A run that has not ended: its steps, its time, and a way to stop it. */

import { make } from "./dom.js";
import { say } from "./language.js";
import { secondsText } from "./numbers.js";

const TICK_MS = 100;

/** Return the view of a run: `element`, and `end`, which stops the clock. */
export function progressView(steps, stop) {
  const clock = make("span", { class: "time" });
  const began = performance.now();
  const tick = () => {
    clock.textContent = secondsText(performance.now() - began);
  };
  const timer = setInterval(tick, TICK_MS);
  tick();
  const state = make("p", { class: "working" }, make("span", { class: "dot", "aria-hidden": "true" }),
    say(make("span"), "working"), clock,
    say(make("button", { type: "button", class: "quiet", on: { click: stop } }), "stop"));
  return { element: make("div", { class: "progress" }, steps, state), end: () => clearInterval(timer) };
}
