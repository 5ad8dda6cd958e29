/** Files that are asked: picked, or dropped anywhere on the page. */

import { request } from "./api.js";
import { announce } from "./announce.js";
import { askSource, choose, readyText } from "./chosen.js";
import { button } from "./controls.js";
import { byId, make } from "./dom.js";
import { loaded } from "./events.js";
import { say } from "./language.js";
import { showPreview } from "./preview.js";
import { databaseOffer } from "./sources.js";

/** Take files from the button and from what is dropped. */
export function addFiles() {
  const input = byId("file");
  byId("attach").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    takeFiles([...input.files]);
    input.value = "";
  });
  addDrop();
}

function addDrop() {
  const shade = byId("drop");
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    shade.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) shade.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    shade.hidden = true;
    if (!carriesFiles(event)) return;
    event.preventDefault();
    takeFiles([...event.dataTransfer.files]);
  });
}

/** Upload files one after the other, and show the preview of the last one. */
async function takeFiles(files) {
  for (const file of files) await take(file);
  byId("question").focus();
}

async function take(file) {
  const offer = await databaseOffer(file, (name) => {
    show("");
    if (name) askSource(name);
  });
  if (offer) return byId("file-state").replaceChildren(offer);
  const stop = new AbortController();
  const state = say(make("p", { class: "busy", role: "status" }), "reading_file", { name: file.name });
  const share = make("progress", { max: 1, "aria-label": file.name });
  byId("file-state").replaceChildren(state, share, button("load_cancel", () => stop.abort()));
  try {
    const body = new FormData();
    body.append("file", file);
    const response = await request("files/events", { method: "POST", body, signal: stop.signal });
    const made = await loaded(response, (done) => share.setAttribute("value", String(done)));
    for (const dataset of made.datasets) choose({ name: made.name, ...dataset });
    show("");
    showPreview(made.datasets[0]);
    announce(made.datasets.map(readyText).join(". "));
  } catch (error) {
    if (error.name === "AbortError") show("");
    else show(error.message, "error");
  }
}

function show(words, kind = null) {
  const line = words ? [make("p", { class: kind, role: kind === "error" ? "alert" : "status" }, words)] : [];
  byId("file-state").replaceChildren(...line);
}
