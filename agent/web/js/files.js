/** Files that are asked: picked, or dropped anywhere on the page. */

import { request } from "./api.js";
import { askSource, choose, readyText } from "./chosen.js";
import { button, showError } from "./controls.js";
import { announce, byId, make } from "./dom.js";
import { watched } from "./loading.js";
import { showPreview } from "./preview.js";
import { databaseOffer } from "./sources.js";

/** Take files from the button and from what is dropped, once `ready` has told whether databases may be added. */
export function addFiles(ready) {
  const taken = (files) => ready.then(() => takeFiles(files));
  const input = byId("file");
  byId("attach").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    taken([...input.files]);
    input.value = "";
  });
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
    taken([...event.dataTransfer.files]);
  });
}

/** Upload files one after the other, and show the preview of the last one; each has a line for what is to be said of it. */
async function takeFiles(files) {
  forgetLines();
  for (const file of files) await take(file, byId("file-state").appendChild(make("div")));
  byId("question").focus();
}

/** Forget what is said of files, but for those that are being read. */
export function forgetLines() {
  for (const line of byId("file-state").querySelectorAll(":scope > :not(:empty, :has(progress))")) line.remove();
}

async function take(file, line) {
  const offer = await databaseOffer(file, (name, key) => {
    line.remove();
    if (name) askSource(name, key);
  });
  if (offer) return line.append(offer);
  const stop = new AbortController();
  const body = new FormData();
  body.append("file", file);
  try {
    const load = watched(line, file.name, request("files/events", { method: "POST", body, signal: stop.signal }));
    line.append(button("load_cancel", () => stop.abort()));
    const made = await load;
    const datasets = made.datasets.map((each) => ({ name: made.name, ...each }));
    datasets.forEach(choose);
    line.remove();
    showPreview(datasets[0]);
    announce(datasets.map(readyText).join(". "));
  } catch (error) {
    if (error.name === "AbortError") line.remove();
    else showError(line, error);
  }
}
