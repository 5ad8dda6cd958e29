/** A run that has not ended: its steps, its time, and a way to stop it. */

import { make } from "./dom.js";
import { say } from "./language.js";
import { secondsText } from "./numbers.js";

const TICK_MS = 100;

/** Return the view of a run: `element`, `wait`, which takes what it waits for, and `end`, which stops the clock. */
export function progressView(steps, stop) {
  const clock = make("span", { class: "time" });
  const began = performance.now();
  const tick = () => {
    clock.textContent = secondsText(performance.now() - began);
  };
  const timer = setInterval(tick, TICK_MS);
  tick();
  const words = say(make("span"), "working");
  const state = make("p", { class: "working" }, make("span", { class: "dot", "aria-hidden": "true" }), words, clock,
    say(make("button", { type: "button", class: "quiet", on: { click: stop } }), "stop"));
  return {
    element: make("div", { class: "progress" }, steps, state),
    wait: (what) => say(words, what),
    end: () => clearInterval(timer),
  };
}
