/** One turn of a conversation: what the user said, and what came of it. */

import { wordsOf } from "./answer.js";
import { seenOf } from "./api.js";
import { announce, byId, make } from "./dom.js";
import { run, shareDone } from "./events.js";
import { failureView, operatorKnown } from "./failure.js";
import { say } from "./language.js";
import { plotKnown } from "./plot.js";
import { partView } from "./report.js";
import { progressView, stepList } from "./steps.js";

/** A turn on the page. `view(output)` makes what is shown of an output. */
export class Turn {
  constructor(said, graph, input, view) {
    Object.assign(this, { graph, input, view });
    this.body = make("div", { class: "body" });
    const words = make("p", { class: "said", dir: "auto" }, said);
    this.element = make("article", { class: "turn" }, say(make("h2", { class: "visually-hidden" }), "you"), words, this.body);
  }

  /** Run it, and return its output, or null where none came. */
  async run() {
    const steps = stepList();
    this.controller = new AbortController();
    const progress = progressView(steps.element, () => this.stop());
    this.parts = make("div", { class: "report" });
    this.body.replaceChildren(progress.element, this.parts);
    this.element.scrollIntoView({ block: "start" });
    try {
      const output = await this.output(steps, progress);
      // A chart that came after the answer would move its rows; an error is told by who reads it.
      await Promise.all([plotKnown(output), operatorKnown]);
      const view = this.view(output);
      this.show(view, wordsOf(output));
      return output;
    } catch (error) {
      await operatorKnown;
      this.show(failureView(seenOf(error), () => this.again()), "");
      if (this.parts.childElementCount) this.body.append(this.parts);
      return null;
    } finally {
      progress.end();
    }
  }

  /** Break it off; the server stops what it does for it. */
  stop() {
    this.controller.abort();
  }

  async output(steps, progress) {
    let output = null;
    for await (const { event, data } of run(this.graph, this.input, this.controller.signal)) {
      if (event === "started") progress.start(data);
      if (event === "step") steps.add(data);
      if (event === "waiting") progress.wait(data.for, data);
      if (event === "progress") progress.load(shareDone(data));
      if (event === "part") this.parts.append(partView(data));
      if (event === "output") output = data;
    }
    return output;
  }

  /** Show what came, and lead there who is not typing something else. */
  show(view, words) {
    this.body.replaceChildren(view);
    announce(words);
    if (!byId("question").value) view.querySelector(".focus")?.focus({ preventScroll: true });
    this.element.scrollIntoView({ block: "start" });
  }
}
