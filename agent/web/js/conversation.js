/** A conversation: its turns on a thread, one run at a time. */

import { announce } from "./announce.js";
import { answerView } from "./answer.js";
import { clarificationView } from "./clarification.js";
import { byId, make } from "./dom.js";
import { run } from "./events.js";
import { feedbackView } from "./feedback.js";
import { keep, kept } from "./kept.js";
import { pinView } from "./pin.js";
import { keptRuns, rejected } from "./restored.js";
import { failureView, Turn } from "./turn.js";

/** Return the thread that the tab goes on with and what it is about, or null. */
export function keptConversation() {
  return JSON.parse(kept("conversation", "sessionStorage"));
}

export class Conversation {
  /** Show the turns in `list`; `where()` says what is asked. */
  constructor(list, where) {
    Object.assign(this, { list, where, thread: null, place: null, running: null });
  }

  /** Ask a question; return whether it was taken, which is not so while another one runs. */
  ask(question) {
    if (this.running) return false;
    const { graph, named } = this.where();
    const place = JSON.stringify([graph, named]);
    // What was said about other data would be read into the question.
    if (place !== this.place) Object.assign(this, { place, graph, thread: null });
    this.begin(question, { question, ...named, ...(this.thread && { thread_id: this.thread }) });
    return true;
  }

  /** Stop what runs. */
  stop() {
    this.running?.stop();
  }

  /** Forget the conversation. */
  restart() {
    this.stop();
    this.goOn(null);
    Object.assign(this, { place: null, running: null });
    this.list.replaceChildren();
    document.body.classList.remove("talking");
  }

  /** Show the conversation that was kept, once `ready`; one that the server does not have is forgotten. */
  async restore({ thread, graph, named }, ready) {
    const controller = new AbortController();
    const running = { stop: () => controller.abort() };
    Object.assign(this, { thread, graph, place: JSON.stringify([graph, named]), running });
    document.body.classList.add("talking");
    try {
      await ready;
      const runs = await keptRuns(thread, controller.signal);
      if (this.running === running) this.showKept(runs);
    } catch (error) {
      if (this.running !== running) return;
      if (error.status === 404) return this.restart();
      this.list.replaceChildren(failureView(error, () => this.restore({ thread, graph, named })));
    }
    this.running = null;
  }

  showKept(runs) {
    this.list.replaceChildren();
    for (const { said, output, chosen, accepted } of runs) {
      if (accepted) {
        this.list.querySelector(".turn:last-child .feedback")?.replaceChildren(noted(output.answer));
        continue;
      }
      if (chosen) this.list.querySelector(`.turn:last-child .option:nth-child(${chosen})`).classList.add("chosen");
      this.add(new Turn(said, this.graph, null)).body.append(this.view(output, null, said));
    }
    const last = this.list.lastElementChild;
    last?.scrollIntoView({ block: "start" });
    last?.querySelector(".asked-back .focus")?.focus({ preventScroll: true });
  }

  begin(said, input) {
    const turn = this.add(new Turn(said, this.graph, input, (output, steps) => this.view(output, steps, said)));
    turn.again = () => this.go(turn);
    this.go(turn);
  }

  /** Add a turn; nothing can be said to those before it any more. */
  add(turn) {
    for (const old of this.list.querySelectorAll(".feedback, .failure button")) old.remove();
    for (const old of this.list.querySelectorAll("fieldset")) old.disabled = true;
    document.body.classList.add("talking");
    this.list.append(turn.element);
    return turn;
  }

  async go(turn) {
    this.running = turn;
    byId("ask").disabled = true;
    const output = await turn.run();
    if (this.running !== turn) return;
    this.running = null;
    byId("ask").disabled = false;
    if (output) this.goOn(output.error?.code === "thread_unknown" ? null : output.thread_id);
  }

  /** Go on with `thread` from now on, also where the page is loaded again. */
  goOn(thread) {
    this.thread = thread;
    const [graph, named] = JSON.parse(this.place) ?? [];
    keep("conversation", thread && JSON.stringify({ thread, graph, named }), "sessionStorage");
  }

  view(output, steps, said) {
    const thread_id = output.thread_id;
    if (output.clarification) {
      // After an error the question back is still open.
      const why = output.error && make("p", { class: "error" }, output.answer);
      return clarificationView(output.clarification, why, (given, shown) =>
        this.begin(shown, { thread_id, clarification_answer: given }));
    }
    const view = answerView(output, steps, said);
    view.append(pinView(output) ?? "");
    if (!output.error && this.graph === "agent") view.append(this.feedback(thread_id));
    return view;
  }

  feedback(thread_id) {
    const view = feedbackView({
      accept: () => this.accept(view, { thread_id, feedback: { accepted: true } }),
      reject: (comment) => this.begin(rejected({ comment }),
        { thread_id, feedback: { accepted: false, ...(comment && { comment }) } }),
    });
    return view;
  }

  async accept(view, input) {
    const words = noted();
    view.replaceChildren(words);
    try {
      for await (const { event, data } of run(this.graph, input)) {
        if (event === "output") words.textContent = data.answer;
      }
    } catch (error) {
      words.textContent = error.message;
    }
    announce(words.textContent);
    words.focus({ preventScroll: true });
  }
}

function noted(words = "") {
  return make("p", { class: "noted", role: "status", tabindex: "-1" }, words);
}
