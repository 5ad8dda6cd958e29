/** Pinning an answer to a board. */

import { boardAddress } from "./address.js";
import { got, postJson } from "./api.js";
import { button, choice, form, iconButton, labelled, showError, submit } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say, text } from "./language.js";

const NEW = "";

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
