/** Boards: pinned answers with their last figures, charts and rows, in the place of the conversation; and how they are pinned. */

import { boardAddress } from "./address.js";
import { got, postJson, request, sendJson } from "./api.js";
import { chartView } from "./chart.js";
import { button, choice, confirmed, field, fold, form, iconButton, labelled, named, showError, submit } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { current, say, text } from "./language.js";
import { menuView, saveMenu } from "./menu.js";
import { numberText, valueText } from "./numbers.js";
import { saveAs, saveFrom } from "./save.js";
import { sqlView } from "./sql.js";
import { tableView } from "./table.js";

const TITLE = document.title;
const SCHEDULES = ["", "hourly", "daily", "weekly"];
/** In the choice of a board, another one. */
const NEW = "";

/** Show the board with this id, with "" the first one, in place of the conversation; with null, the conversation. */
export async function showBoard(id) {
  document.body.classList.toggle("boarding", id !== null);
  byId("board").hidden = id === null;
  document.title = TITLE;
  byId("board").replaceChildren();
  if (id !== null) await new BoardView(byId("board")).load(id);
}

class BoardView {
  constructor(place) {
    this.title = make("h2", { class: "focus", tabindex: "-1", dir: "auto" });
    this.state = make("p", { class: "hint", role: "status" });
    this.tools = make("div", { class: "board-tools" });
    this.cards = make("div", { class: "cards" });
    const back = say(make("a", { class: "back", href: "#/" }), "conversation");
    place.replaceChildren(back, make("div", { class: "board-head" }, this.title, this.tools), this.state, this.cards);
    say(this.title, "boards");
  }

  /** Do `work` and say what went wrong; the controls are disabled meanwhile. */
  async attempt(work, key = "working") {
    say(this.state, key);
    this.tools.inert = this.cards.inert = true;
    try {
      await work();
    } catch (error) {
      showError(this.state, error);
    } finally {
      this.tools.inert = this.cards.inert = false;
    }
  }

  load(id) {
    return this.attempt(async () => {
      const { boards } = await got("boards");
      const shown = id || boards[0]?.id;
      if (!shown) return say(this.state, "boards_none");
      const board = await got(`boards/${shown}`);
      // The user may have left meanwhile.
      if (!this.title.isConnected) return;
      this.show(board, boards);
      history.replaceState(null, "", boardAddress(shown));
      this.title.focus();
    });
  }

  show(board, boards) {
    Object.assign(this, { board, boards, path: `boards/${board.id}` });
    say(this.title, () => board.title);
    document.title = `${board.title} · ${TITLE}`;
    this.tools.replaceChildren(...this.controls());
    this.cards.replaceChildren(...board.pins.map((pin) => this.card(pin)));
    if (board.pins.length) this.state.replaceChildren();
    else say(this.state, "board_empty");
  }

  controls() {
    const files = ["csv", "json"].map((suffix) =>
      [saveAs(suffix.toUpperCase()), () => saveFrom(`${this.path}/export.${suffix}`, `${this.board.id}.${suffix}`)]);
    const changes = this.board.may_change ? [this.schedule(), this.renaming(), confirmed("board_delete", "board_delete_sure", () => this.remove())] : [];
    return [...(this.boards.length > 1 ? [this.choice()] : []), button("board_refresh", () => this.refresh(this.path)),
      menuView(() => [["board_print", () => print()], ...files, ...changes])];
  }

  choice() {
    const options = this.boards.map(({ id, title }) => [id, () => title]);
    return say(choice(options, this.board.id, (id) => location.assign(boardAddress(id))), "board_choose", {}, "aria-label");
  }

  schedule() {
    const options = SCHEDULES.map((each) => [each, `board_${each || "on_demand"}`]);
    return named(choice(options, this.board.schedule ?? "", (each) => this.change(this.path, { schedule: each || null })), "board_schedule");
  }

  renaming() {
    const title = say(make("input", { type: "text", maxlength: "200", required: true, dir: "auto", value: this.board.title }), "title", {}, "aria-label");
    return fold("board_rename", form({ class: "own-words" }, () => this.change(this.path, { title: title.value }), title, submit("board_save", { class: "quiet" })));
  }

  /** Change the board or a pinned answer at `path`, and show the board as it is then. */
  change(path, body, method = "PATCH") {
    return this.attempt(async () => {
      await sendJson(method, path, body);
      await this.reload();
    });
  }

  async reload() {
    const [board, { boards }] = await Promise.all([this.path, "boards"].map((path) => got(path)));
    this.show(board, boards);
    this.title.focus();
  }

  refresh(path) {
    return this.attempt(async () => {
      await sendJson("POST", `${path}/refresh`, {});
      await this.reload();
      announce(text("board_refreshed"));
    }, "board_refreshing");
  }

  remove() {
    return this.attempt(async () => {
      await request(this.path, { method: "DELETE" });
      location.replace(boardAddress());
    });
  }

  card(pin) {
    const path = `${this.path}/pins/${pin.id}`;
    const { result } = pin;
    const origin = make("div", { hidden: true }, say(make("p", { class: "hint" }), "board_from", { source: pin.source ?? pin.datasets.join(", ") }), sqlView(pin.sql));
    const settings = this.board.may_change ? this.settings(pin, path) : null;
    const opening = (key, part) => part && [key, () => {
      part.hidden = !part.hidden;
    }];
    const card = make("article", { class: pin.out_of_bounds ? "card outside" : "card" },
      make("h3", { dir: "auto" }, pin.title),
      pin.title === pin.question ? null : make("p", { class: "hint", dir: "auto" }, pin.question),
      contents(pin, result),
      bounds(pin),
      refreshTime(result), origin, settings);
    card.append(make("div", { class: "card-tools" }, say(button("board_refresh", () => this.refresh(path)), "board_refresh_one", { title: pin.title }, "aria-label"),
      saveMenu(card, opening("board_sql", origin), opening("board_settings", settings))));
    return card;
  }

  settings(pin, path) {
    const title = field("title", { type: "text", maxlength: "200", required: true, dir: "auto", value: pin.title });
    const lower = field("board_lower", { type: "number", step: "any", value: pin.lower });
    const upper = field("board_upper", { type: "number", step: "any", value: pin.upper });
    const hasFigure = typeof pin.result?.figure === "number" || pin.lower !== null || pin.upper !== null;
    const given = (label) => (label.lastChild.value === "" ? null : Number(label.lastChild.value));
    const save = () => this.change(path, { title: title.lastChild.value, ...(hasFigure && { lower: given(lower), upper: given(upper) }) });
    return form({ class: "pin-settings", hidden: true }, save, title, ...(hasFigure ? [lower, upper] : []),
      make("div", { class: "buttons" }, submit("board_save", { class: "quiet" }), confirmed("unpin", "unpin_sure", () => this.change(path, undefined, "DELETE"))));
  }
}

function contents(pin, result) {
  if (!result) return say(make("p", { class: "hint" }), "board_never");
  if (result.error) {
    return make("div", { class: "stale" }, say(make("p", { class: "error" }), "board_failed"), make("p", { dir: "auto" }, result.error.message));
  }
  const { figure, columns, rows, formats, chart } = result;
  if (figure !== null) {
    return say(make("p", { class: "figure" }), () => valueText(figure, formats?.[0]));
  }
  if (chart) return chartView(chart, pin.question);
  if (!rows.length) return say(make("p", { class: "hint" }), "board_no_rows");
  if (rows.length === 1 && columns.length === 1) return say(make("p", { class: "words", dir: "auto" }), () => valueText(rows[0][0], formats?.[0]));
  return tableView({ columns, rows, formats });
}

/** Return the bounds of the figure, and whether it is outside, in words and not by colour alone. */
function bounds({ lower, upper, out_of_bounds: isOutside, result }) {
  if (lower === null && upper === null) return null;
  const range = () => [lower === null ? "" : `≥ ${numberText(lower)}`, upper === null ? "" : `≤ ${numberText(upper)}`].filter(Boolean).join(", ");
  if (result?.figure === null || isOutside === null) return say(make("p", { class: "hint" }), () => text("board_bounds", { range: range() }));
  const key = isOutside ? "board_outside" : "board_inside";
  return say(make("p", { class: isOutside ? "mark error" : "mark" }), () => text(key, { range: range() }));
}

function refreshTime(result) {
  if (!result) return null;
  const at = new Date(result.refreshed_at);
  const time = make("time", { datetime: result.refreshed_at, class: "hint" });
  const format = () => new Intl.DateTimeFormat(current(), { dateStyle: "medium", timeStyle: "short" }).format(at);
  return say(time, () => text("board_time", { time: format() }));
}

/** Return the button that pins the answer of `output`, or null where it has no statement or is not stored. */
export function pinView(output) {
  if (output.error || !output.sql || !output.run_id) return null;
  const said = make("span", { class: "pinned-to", role: "status" });
  return make("div", { class: "pin-answer" }, iconButton("pin", "pin", () => openPin(output, said)), said);
}

async function openPin({ thread_id, run_id }, said) {
  const dialog = byId("pin-dialog");
  const state = say(make("p", { class: "hint", role: "status" }), "working");
  const close = button("load_cancel", () => dialog.close());
  const heading = say(make("h2", { id: "pin-title" }), "pin_title");
  dialog.replaceChildren(heading, state, close);
  dialog.showModal();
  try {
    const { boards } = await got("boards");
    const view = pinForm(boards.filter((board) => board.may_change), close, async (board, newTitle, title) => {
      const own = board === NEW ? await (await postJson("boards", { title: newTitle })).json() : boards.find(({ id }) => id === board);
      await postJson(`boards/${own.id}/pins`, { thread_id, run_id, ...(title && { title }) });
      dialog.close();
      const open = make("a", { href: boardAddress(own.id) });
      said.replaceChildren(say(make("span"), "pinned", { title: own.title }), say(open, "board_open"));
      announce(text("pinned", { title: own.title }));
      open.focus();
    });
    dialog.replaceChildren(heading, view);
    view.querySelector(".field:not([hidden]) :is(select, input)").focus();
  } catch (error) {
    showError(state, error);
  }
}

function pinForm(boards, close, pin) {
  const newTitle = make("input", { type: "text", maxlength: "200", dir: "auto", autocomplete: "off" });
  const title = make("input", { type: "text", maxlength: "200", dir: "auto", autocomplete: "off" });
  const newField = labelled("board_new_title", newTitle);
  const fit = (board) => {
    newField.hidden = board !== NEW;
    newTitle.required = board === NEW;
  };
  const options = [...boards.map((each) => [each.id, () => each.title]), [NEW, "board_new"]];
  const select = choice(options, options[0][0], fit);
  const board = labelled("board", select);
  board.hidden = !boards.length;
  fit(select.value);
  return form({}, () => pin(select.value, newTitle.value, title.value.trim()), board, newField, labelled("pin_name", title),
    make("div", { class: "buttons" }, submit("pin"), close));
}
