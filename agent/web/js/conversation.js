/** A conversation: its turns on a thread, one run at a time. */

import { answerAddress, showAddress } from "./address.js";
import { answerView } from "./answer.js";
import { got, seenOf } from "./api.js";
import { pinView } from "./boards.js";
import { chooseAnew, nameOfPlace } from "./chosen.js";
import { alternativesView, clarificationView } from "./clarification.js";
import { announce, byId, make } from "./dom.js";
import { emptyEditorView, mayRun } from "./editor.js";
import { run } from "./events.js";
import { failedOutputView, failureReason, failureView } from "./failure.js";
import { feedbackView } from "./feedback.js";
import { forgetLines } from "./files.js";
import { keep, kept } from "./kept.js";
import { say, text } from "./language.js";
import { saveMenu } from "./menu.js";
import { Queue } from "./queue.js";
import { reportView } from "./report.js";
import { notify } from "./sidebar.js";
import { questionItems } from "./start.js";
import { Turn } from "./turn.js";

const MOST_TURNS = 20;

/** Return the thread that the tab goes on with and what it is about; null if there is none, or it is not `thread`. */
export function keptConversation(thread = null) {
  const found = JSON.parse(kept("conversation", "sessionStorage"));
  return thread && found?.thread !== thread ? null : found;
}

/** Return what is asked as text, by which two questions are about the same. */
function placeOf({ graph, named }) {
  return JSON.stringify([graph, named]);
}

export class Conversation {
  /** Show the turns in `list`; `where()` says what is asked, `changed(thread)` is called when the thread has changed. */
  constructor(list, where, changed) {
    Object.assign(this, { list, where, changed, thread: null, place: null, question: null, running: null, offering: null });
    this.queue = new Queue(() => this.advance());
  }

  /** Take what the user has typed: the answer to an open question back, or else a question, or a request for a report. */
  hear(words, isReport) {
    const at = this.where();
    const isOpen = this.isAsked && !this.running && JSON.stringify(at.named) === JSON.stringify(JSON.parse(this.place)[1]);
    if (isReport) this.ask(words, { ...at, graph: "report" });
    else if (isOpen) this.reply(words, words);
    else this.ask(words, at);
  }

  /** Ask a question, while another one runs after it. */
  ask(question, at = this.where()) {
    if (this.running) return this.queue.add(question, at);
    const { graph, named } = at;
    const place = placeOf(at);
    // What was said about other data would be read into the question; a report has none before it.
    if (place !== this.place || graph === "report") Object.assign(this, { place, graph, thread: null });
    this.begin(question, { question, ...named, ...(this.thread && { thread_id: this.thread }) });
  }

  /** Answer the open question back with `given`, which is shown as `words`. */
  reply(given, words) {
    this.begin(words, { thread_id: this.thread, clarification_answer: given });
  }

  /** Stop what runs. */
  stop() {
    this.running?.stop();
  }

  /** Forget the conversation. */
  restart() {
    this.leave();
    this.goOn(null);
    this.place = null;
    document.body.classList.remove("talking");
    window.scrollTo(0, 0);
  }

  /** Stop what runs, and show nothing of the conversation. */
  leave() {
    this.stop();
    this.offering?.abort();
    this.run(null);
    this.queue.clear();
    this.list.replaceChildren();
    forgetLines();
  }

  /** Set what runs; while something does, questions wait. */
  run(running) {
    this.running = running;
    this.queue.wait(Boolean(running));
    say(byId("ask"), running ? "ask_next" : "ask");
  }

  /** Show the turn of a run. */
  reveal(run) {
    const turn = run && this.list.querySelector(`[data-run="${run}"]`)?.closest(".turn");
    turn?.scrollIntoView({ block: "start" });
    turn?.querySelector(".focus")?.focus({ preventScroll: true });
  }

  /** Show a conversation, and the turn of a run in it, once `ready`; one that the server does not have is forgotten. */
  async restore(thread, ready, shownRun = null) {
    this.leave();
    const controller = new AbortController();
    const running = { stop: () => controller.abort() };
    this.run(running);
    this.thread = thread;
    document.body.classList.add("talking");
    try {
      await ready;
      const before = keptConversation(thread);
      const { graph, source, datasets, named = datasets?.length ? { datasets } : source ? { source } : {} } = before ?? (await got(`threads/${thread}`, { signal: controller.signal }));
      const runs = await keptRuns(thread, controller.signal, shownRun);
      if (this.running !== running) return;
      chooseAnew(named);
      // The server names the source that it chose, which may not be one that can be named.
      Object.assign(this, { graph, place: placeOf({ graph, named: before ? named : this.where().named }) });
      this.goOn(thread, runs.at(-1)?.output.clarification);
      this.showKept(runs);
      this.reveal(shownRun);
    } catch (error) {
      if (this.running !== running) return;
      if (error.status === 404) {
        this.restart();
        return notify(error.message);
      }
      this.list.replaceChildren(failureView(seenOf(error), () => this.restore(thread, ready, shownRun)));
    }
    this.run(null);
  }

  showKept(runs) {
    this.list.replaceChildren();
    for (const { said, question, output, chosen, accepted } of runs) {
      this.question = question;
      if (accepted) {
        this.list.querySelector(".turn:last-child .feedback")?.replaceChildren(noted(output.answer));
        continue;
      }
      if (chosen) this.list.querySelector(`.turn:last-child .option:nth-child(${chosen})`).classList.add("chosen");
      this.add(new Turn(said, this.graph, null)).body.append(this.view(output, question, () => this.ask(question)));
    }
    const last = this.list.lastElementChild;
    last?.scrollIntoView({ block: "start" });
    last?.querySelector(".asked-back .focus")?.focus({ preventScroll: true });
    this.offer(runs.findLast(({ accepted }) => !accepted)?.output ?? {});
  }

  /** Run `input`, which is shown as `said`; feedback and the answer to a question back are about the question before them. */
  begin(said, input, graph = this.graph) {
    const question = this.question = input.question ?? this.question;
    const turn = this.add(new Turn(said, graph, input, (output) => this.view(output, question, () => this.go(turn))));
    turn.again = () => this.go(turn);
    this.go(turn);
  }

  /** Add a turn; nothing can be said to those before it any more. */
  add(turn) {
    this.settle();
    document.body.classList.add("talking");
    this.list.append(turn.element);
    return turn;
  }

  /** Let nothing be said to what is shown any more. */
  settle() {
    this.offering?.abort();
    for (const old of this.list.querySelectorAll(".feedback, .failure > button, .follow-ups")) old.remove();
    for (const old of this.list.querySelectorAll("fieldset")) old.disabled = true;
  }

  async go(turn) {
    this.run(turn);
    const output = await turn.run();
    if (this.running !== turn) return;
    this.run(null);
    if (!output) return;
    this.goOn(output.error?.code === "thread_unknown" ? null : output.thread_id, output.clarification);
    // A question back is answered first.
    if (output.clarification) return;
    this.advance();
    if (!this.running) this.offer(output);
  }

  /** Show the questions that follow an answer or a greeting, below the last turn, once the server has found some. */
  async offer({ run_id, thread_id, error, clarification }) {
    if (!run_id || error || clarification) return;
    const [graph, named] = JSON.parse(this.place);
    this.offering = new AbortController();
    const { signal } = this.offering;
    // Without the server there are none, and the page works without them.
    const path = `threads/${thread_id}/runs/${run_id}/questions`;
    const { questions } = await got(path, { asksKey: false, signal }).catch(() => ({ questions: [] }));
    if (!questions.length || signal.aborted) return;
    const view = make("ul", { class: "follow-ups" }, ...questionItems(questions, (question) => this.ask(question, { graph, named })));
    this.list.lastElementChild?.querySelector(".body").append(say(view, "follow_ups", {}, "aria-label"));
  }

  /** Ask the first question that waits, if there is one. */
  advance() {
    const next = this.queue.next();
    if (next) this.ask(next.question, next.at);
  }

  /** Go on with `thread` from now on, also where the page is loaded again; `asked` is its open question back, if there is one. */
  goOn(thread, asked = null) {
    this.thread = thread;
    this.isAsked = Boolean(asked);
    say(byId("question"), asked ? "own_words" : "question_hint", {}, "placeholder");
    const [graph, named] = JSON.parse(this.place) ?? [];
    keep("conversation", thread && JSON.stringify({ thread, graph, named }), "sessionStorage");
    showAddress(thread);
    this.changed(thread);
  }

  view(output, question, again) {
    if (output.clarification) {
      // After an error the question back is still open.
      const why = output.error && failureReason(output);
      return clarificationView(output.clarification, why, (given, words) => this.reply(given, words));
    }
    if (output.error) return failedOutputView(output, question, again);
    if (output.report) return reportView(output, nameOfPlace(JSON.parse(this.place)[1]), output.run_id && answerLink(output));
    return this.answered(output, question);
  }

  /** Make the statement of an alternative the answer to a question. */
  async take({ sql }, { thread_id, audit }, question) {
    const { source } = await got(`threads/${thread_id}`).catch(() => ({}));
    this.begin(question, { sql, thread_id, question, trace_id: audit.trace_id, ...(source && { source }) }, "sql");
  }

  /** Let the user write a statement; its answer is the next one about the same data, or begins a conversation. */
  write() {
    const at = this.where();
    const place = placeOf(at);
    if (place !== this.place) Object.assign(this, { place, graph: at.graph, thread: null });
    const turn = this.add(new Turn("", this.graph, null));
    say(turn.element.querySelector(".said"), "write_sql");
    turn.body.append(emptyEditorView(this.thread, at.named.source, (output) => {
      if (turn.element.isConnected && !this.thread && !this.running) this.thread = output.thread_id;
      this.question = output.sql;
      return this.edited(output, output.sql);
    }));
    turn.element.scrollIntoView({ block: "start" });
  }

  /** Show the answer of a statement that was edited by hand, the last one of its conversation from now on. */
  edited(output, question) {
    if (output.thread_id === this.thread) {
      this.settle();
      this.goOn(this.thread);
    }
    return this.answered(output, question, false);
  }

  answered(output, question, mayEdit = this.graph === "agent") {
    const { thread_id, run_id, sql } = output;
    const isAgent = this.graph === "agent";
    const reject = (comment) => this.begin(rejected({ comment }),
      { thread_id, feedback: { accepted: false, ...(comment && { comment }) } });
    const [, named] = JSON.parse(this.place);
    const edited = mayEdit ? (made) => this.edited(made, question) : null;
    const about = { name: nameOfPlace(named), source: named.source, edited };
    const feedback = isAgent && sql ? this.feedback(thread_id, reject) : null;
    const isDraft = output.status === "unsure";
    const others = isDraft ? alternativesView(output, mayRun() && ((each) => this.take(each, output, question))) : null;
    const view = answerView(output, question, about, isAgent ? reject : null, [feedback, others]);
    // A reply is no answer that could be right or wrong.
    if (run_id) view.dataset.run = run_id;
    const tools = [isDraft ? null : feedback, pinView(output), saveMenu(view, run_id && answerLink(output))].filter(Boolean);
    if (tools.length) view.append(make("div", { class: "toolbar" }, ...tools));
    return view;
  }

  feedback(thread_id, reject) {
    const accept = () => this.accept(view, { thread_id, feedback: { accepted: true } });
    const view = feedbackView({ accept, reject });
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

/** Return the link to an answer, which others with the same data can open. */
function answerLink({ thread_id: thread, run_id: run }) {
  return say(make("a", { class: "permalink", href: answerAddress(thread, run) }), "answer_link");
}

function noted(words = "") {
  return make("p", { class: "noted", role: "status", tabindex: "-1" }, words);
}

/**
 * Return the last runs of a thread, the oldest first: what was said, as it is shown, the question that it is about, and the output.
 * `shownRun` is among them if it is one of the last 100.
 * `chosen` is the number of the option that was chosen in the run before, `accepted` whether that one's answer was.
 * Throws a Problem, or what the signal's abort throws.
 */
async function keptRuns(thread, signal, shownRun = null) {
  const { runs } = await got(`threads/${thread}/history`, { signal });
  const count = Math.max(MOST_TURNS, runs.findIndex(({ id }) => id === shownRun) + 1);
  const last = runs.slice(0, count).reverse();
  const outputs = await Promise.all(last.map(({ id }) => got(`threads/${thread}/runs/${id}`, { signal })));
  const questionOf = (at) => runs.slice(last.length - 1 - at).find(({ said }) => said.question)?.said.question;
  return last.map(({ said }, at) => ({ ...shown(said, outputs[at - 1]), question: questionOf(at), output: outputs[at] }));
}

function shown({ question, clarification_answer: answer, feedback }, before) {
  if (feedback) return { said: rejected(feedback), accepted: feedback.accepted };
  if (answer === undefined) return { said: question };
  const chosen = before?.clarification?.options[Number(answer) - 1];
  return { said: chosen?.label ?? answer, chosen: chosen && Number(answer) };
}

/** Return what is shown of feedback that rejects an answer. */
function rejected({ comment }) {
  return [text("wrong"), comment].filter(Boolean).join(": ");
}
