/** Pinning an answer to a board. */

import { boardAddress } from "./address.js";
import { postJson, request } from "./api.js";
import { button, labelled } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say, text } from "./language.js";

const NEW = "";

/** Return the button that pins the answer of `output`, or null where it has no statement or is not stored. */
export function pinView(output) {
  if (output.error || !output.sql || !output.run_id) return null;
  const said = make("span", { class: "pinned-to", role: "status" });
  return make("div", { class: "pin-answer" }, button("pin", () => openPin(output, said)), said);
}

async function openPin({ thread_id, run_id }, said) {
  const dialog = byId("pin-dialog");
  const state = say(make("p", { class: "hint", role: "status" }), "working");
  const close = button("load_cancel", () => dialog.close());
  const heading = say(make("h2", { id: "pin-title" }), "pin_title");
  dialog.replaceChildren(heading, state, close);
  dialog.showModal();
  try {
    const { boards } = await (await request("boards")).json();
    const form = pinForm(boards.filter((board) => board.may_change), close, async (board, newTitle, title) => {
      const own = board === NEW ? await (await postJson("boards", { title: newTitle })).json() : boards.find(({ id }) => id === board);
      await postJson(`boards/${own.id}/pins`, { thread_id, run_id, ...(title && { title }) });
      dialog.close();
      const open = make("a", { href: boardAddress(own.id) });
      said.replaceChildren(say(make("span"), "pinned", { title: own.title }), say(open, "board_open"));
      announce(text("pinned", { title: own.title }));
      open.focus();
    });
    dialog.replaceChildren(heading, form);
    form.querySelector(".field:not([hidden]) :is(select, input)").focus();
  } catch (error) {
    state.replaceChildren(make("span", { class: "error", role: "alert" }, error.message));
  }
}

function pinForm(boards, close, pin) {
  const options = [...boards.map(({ id, title }) => make("option", { value: id }, title)), say(make("option", { value: NEW }), "board_new")];
  const select = make("select", {}, ...options);
  const newTitle = make("input", { type: "text", maxlength: "200", dir: "auto", autocomplete: "off" });
  const title = make("input", { type: "text", maxlength: "200", dir: "auto", autocomplete: "off" });
  const choice = labelled("board", select);
  choice.hidden = !boards.length;
  const newField = labelled("board_new_title", newTitle);
  const submit = say(make("button", { type: "submit" }), "pin");
  const state = make("p", { class: "error", role: "alert", hidden: true });
  const form = make("form", {}, choice, newField, labelled("pin_name", title), state, make("div", { class: "buttons" }, submit, close));
  const fit = () => {
    newField.hidden = select.value !== NEW;
    newTitle.required = !newField.hidden;
  };
  select.addEventListener("change", fit);
  fit();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await pin(select.value, newTitle.value, title.value.trim());
    } catch (error) {
      state.textContent = error.message;
      state.hidden = false;
    }
    submit.disabled = false;
  });
  return form;
}
