/** Proposals for the business knowledge: a list in which each is accepted or rejected. */

import { got, postJson } from "./api.js";
import { button, labelled, showError } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { say } from "./language.js";
import { sqlView } from "./sql.js";

/** Show the button that opens the list if `mayReview`. */
export function addReview(mayReview) {
  const button = byId("review");
  button.hidden = !mayReview;
  button.onclick = openReview;
}

async function openReview() {
  const dialog = byId("review-dialog");
  const list = make("div", { class: "proposals" });
  const state = say(make("p", { role: "status", class: "hint" }), "working");
  const author = make("input", { type: "text", maxlength: "200", autocomplete: "name", dir: "auto" });
  dialog.replaceChildren(say(make("h2", { id: "review-title" }), "proposals"), labelled("review_author", author), state, list,
    make("div", { class: "buttons" }, button("review_close", () => dialog.close())));
  dialog.showModal();
  try {
    const { proposals } = await got("proposals");
    list.append(...proposals.map((proposal) => proposalView(proposal, author)));
    if (proposals.length) state.remove();
    else say(state, "review_none");
  } catch (error) {
    showError(state, error);
  }
}

function proposalView(proposal, author) {
  const { id, source, question, sql, choice, clarifications, proposed_by: by, proposed_at: at, origin } = proposal;
  const isRejected = origin === "rejected_answer";
  const state = make("p", { role: "status", class: "noted", tabindex: "-1" });
  const decide = async (action, body) => {
    buttons.inert = true;
    try {
      const { place } = await (await postJson(`proposals/${id}/${action}`, body)).json();
      say(state, isRejected ? "review_closed" : `review_${action}ed`, { place });
      buttons.remove();
      state.focus();
      announce(state.textContent);
    } catch (error) {
      showError(state, error);
      buttons.inert = false;
    }
  };
  const accept = () => decide("accept", author.value.trim() ? { author: author.value.trim() } : {});
  const buttons = make("div", { class: "buttons" }, isRejected ? null : button("review_accept", accept, { class: null }),
    button(isRejected ? "review_done" : "review_reject", () => decide("reject", {})));
  return make("article", { class: "proposal" },
    make("h3", { dir: "auto" }, choice ? `${choice.word} = ${choice.means}` : question),
    say(make("p", { class: "hint" }), "review_from", { by, at: at.slice(0, 10), source }),
    choice ? make("p", { dir: "auto" }, question) : null,
    isRejected ? say(make("p", { class: "error", dir: "auto" }), "review_rejected_answer", { reason: clarifications.at(-1) }) : null,
    origin === "edited_statement" ? say(make("p", { class: "hint" }), "edited_by_hand") : null,
    ...clarifications.slice(0, isRejected ? -1 : undefined).map((answer) => make("p", { class: "hint", dir: "auto" }, answer)),
    sqlView(sql), state, buttons);
}
