/** The language of the page: the browser's, unless the user chooses. What was said is said anew when it changes. */

import { keep, kept } from "./kept.js";

/** The languages with a file in `texts/`; the server lists them in the page. */
const LANGUAGES = document.querySelector("meta[name=languages]").content.split(" ");
const CHANGED = "datasphinx-language";
const said = new WeakMap();
let language = [kept("language"), ...navigator.languages.map((each) => each.split("-")[0])].find((each) =>
  LANGUAGES.includes(each),
) ?? "en";
let texts = await textsOf(language);

/** Return the language, as `lang` takes it. */
export function current() {
  return language;
}

/** Return a text of the page with `facts` in it; a key without a text comes back as it is, and one that is a function gives it. */
export function text(key, facts = {}) {
  if (typeof key === "function") return key();
  const found = texts[key] ?? key;
  const shown = (fact) => (typeof fact === "number" ? new Intl.NumberFormat(language).format(fact) : fact);
  return found.replace(/\{(\w+)\}/g, (whole, name) => shown(facts[name]) ?? whole);
}

/** Put a text into `element`, or into one of its attributes, in the language of the page from now on. Return it. */
export function say(element, key, facts = {}, attribute = "") {
  said.set(element, { ...said.get(element), [attribute]: [key, facts] });
  element.setAttribute("data-said", "");
  write(element, attribute, key, facts);
  return element;
}

/** Say what the page's HTML names in `data-text`, `data-label`, `data-hint` and `data-title`. */
export function sayAll() {
  const attributes = { text: "", label: "aria-label", hint: "placeholder", title: "title" };
  for (const [name, attribute] of Object.entries(attributes)) {
    for (const element of document.querySelectorAll(`[data-${name}]`)) {
      say(element, element.dataset[name], {}, attribute);
    }
  }
  document.documentElement.lang = language;
}

/** Call `listener` whenever the language changes. */
export function onLanguage(listener) {
  document.addEventListener(CHANGED, listener);
}

/** Let `select` choose the language; its texts are loaded first. */
export function addLanguageSwitch(select) {
  for (const each of LANGUAGES) {
    const name = new Intl.DisplayNames([each], { type: "language" }).of(each);
    const option = new Option(name[0].toLocaleUpperCase(each) + name.slice(1), each);
    option.lang = each;
    select.append(option);
  }
  select.value = language;
  select.addEventListener("change", async () => {
    const chosen = select.value;
    const loaded = await textsOf(chosen).catch(() => null);
    if (select.value !== chosen) return;
    if (!loaded) {
      select.value = language;
      return;
    }
    keep("language", chosen);
    [language, texts] = [chosen, loaded];
    document.documentElement.lang = language;
    for (const element of document.querySelectorAll("[data-said]")) {
      for (const [attribute, [key, facts]] of Object.entries(said.get(element))) write(element, attribute, key, facts);
    }
    document.dispatchEvent(new Event(CHANGED));
  });
}

async function textsOf(code) {
  const response = await fetch(new URL(`../texts/${code}.json`, import.meta.url));
  if (!response.ok) throw new Error(`the texts in ${code} cannot be loaded: ${response.status}`);
  return response.json();
}

function write(element, attribute, key, facts) {
  if (attribute) element.setAttribute(attribute, text(key, facts));
  else element.textContent = text(key, facts);
}
