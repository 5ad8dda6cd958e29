/** Questions that were sent while another runs: shown above the field, asked one after another. */

import { button, signButton } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say, text } from "./language.js";

export class Queue {
  /** Call `resume` when the user wants the first question asked although the one before it was not answered. */
  constructor(resume) {
    this.waiting = [];
    this.isHeld = false;
    this.resume = button("ask_now", resume);
  }

  /** Say whether a question runs; while none does, the questions can be asked by a button. */
  wait(isRunning) {
    this.isHeld = !isRunning;
    this.show();
  }

  /** Add a question about `at`, what was chosen when it was sent. */
  add(question, at) {
    this.waiting.push({ question, at });
    this.show();
    announce(text("queued", { question }));
  }

  /** Take the first question out; undefined if there is none. */
  next() {
    const first = this.waiting.shift();
    this.show();
    return first;
  }

  clear() {
    this.waiting = [];
    this.show();
  }

  show() {
    byId("queue").replaceChildren(...this.waiting.map((each) => this.item(each)));
    if (this.isHeld && this.waiting.length) byId("queue").append(make("li", {}, this.resume));
  }

  item(entry) {
    const { question } = entry;
    return make("li", { class: "chip" }, make("span", { class: "question", dir: "auto" }, question),
      signButton("×", "unqueue", { question }, () => this.remove(entry), { class: "remove" }));
  }

  remove(entry) {
    this.waiting = this.waiting.filter((each) => each !== entry);
    this.show();
    byId("question").focus();
  }
}
