/** The element <datasphinx-chat>: the chat of the server that this script comes from, in a frame. */
(() => {
  const server = new URL(".", document.currentScript.src);

  class DatasphinxChat extends HTMLElement {
    #frame = null;
    #answer = (event) => this.#onMessage(event);

    connectedCallback() {
      this.#frame = document.createElement("iframe");
      this.#frame.src = new URL("embed", server);
      this.#frame.title = this.getAttribute("title") || "datasphinx";
      Object.assign(this.#frame.style, { width: "100%", height: "100%", border: "0" });
      Object.assign(this.style, { display: this.style.display || "block", height: this.style.height || "40rem" });
      window.addEventListener("message", this.#answer);
      this.replaceChildren(this.#frame);
    }

    disconnectedCallback() {
      window.removeEventListener("message", this.#answer);
    }

    /** Return a new token: by default `token` of what the site's backend answers to a POST to the attribute token-url. */
    async token() {
      const response = await fetch(this.getAttribute("token-url"), { method: "POST", credentials: "same-origin" });
      if (!response.ok) throw new Error(`token-url: ${response.status}`);
      return (await response.json()).token;
    }

    async #onMessage({ source, origin, data }) {
      if (source !== this.#frame.contentWindow || origin !== server.origin || data?.type !== "datasphinx-token-wanted") return;
      const token = await this.token().catch(() => null);
      this.#frame.contentWindow?.postMessage({ type: "datasphinx-token", token }, server.origin);
    }
  }

  customElements.define("datasphinx-chat", DatasphinxChat);
})();
