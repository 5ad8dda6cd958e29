/** A conversation: its turns on a thread, one run at a time. */

import { announce } from "./announce.js";
import { answerView } from "./answer.js";
import { clarificationView } from "./clarification.js";
import { byId, make } from "./dom.js";
import { run } from "./events.js";
import { feedbackView } from "./feedback.js";
import { text } from "./language.js";
import { Turn } from "./turn.js";

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
    Object.assign(this, { thread: null, place: null, running: null });
    this.list.replaceChildren();
    document.body.classList.remove("talking");
  }

  begin(said, input) {
    for (const old of this.list.querySelectorAll(".feedback, .failure button")) old.remove();
    for (const old of this.list.querySelectorAll("fieldset")) old.disabled = true;
    document.body.classList.add("talking");
    const turn = new Turn(said, this.graph, input, (output, steps) => this.view(output, steps, said));
    turn.again = () => this.go(turn);
    this.list.append(turn.element);
    this.go(turn);
  }

  async go(turn) {
    this.running = turn;
    byId("ask").disabled = true;
    const output = await turn.run();
    if (this.running !== turn) return;
    this.running = null;
    byId("ask").disabled = false;
    if (output) this.thread = output.error?.code === "thread_unknown" ? null : output.thread_id;
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
    if (!output.error && this.graph === "agent") view.append(this.feedback(thread_id));
    return view;
  }

  feedback(thread_id) {
    const view = feedbackView({
      accept: () => this.accept(view, { thread_id, feedback: { accepted: true } }),
      reject: (comment) => this.begin([text("wrong"), comment].filter(Boolean).join(": "),
        { thread_id, feedback: { accepted: false, ...(comment && { comment }) } }),
    });
    return view;
  }

  async accept(view, input) {
    const noted = make("p", { class: "noted", role: "status", tabindex: "-1" });
    view.replaceChildren(noted);
    try {
      for await (const { event, data } of run(this.graph, input)) {
        if (event === "output") noted.textContent = data.answer;
      }
    } catch (error) {
      noted.textContent = error.message;
    }
    announce(noted.textContent);
    noted.focus({ preventScroll: true });
  }
}
