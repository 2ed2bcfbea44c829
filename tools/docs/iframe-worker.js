// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Browsers start no Worker for a page that is opened from a file. There this one stands in for it:
// the script runs in a hidden frame, so that the site's search works without a server.
"use strict";

class IFrameWorker extends EventTarget {
  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    document.body.append(frame);
    const inside = frame.contentWindow, page = inside.document;
    page.open(); // Firefox would load about:blank over what is set below
    page.write("<!doctype html><body></body>");
    page.close();
    const run = (source) => new Promise((done, failed) => {
      page.body.append(Object.assign(page.createElement("script"), { src: source, onload: done, onerror: failed }));
    });
    inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    inside.importScripts = (...sources) => sources.reduce((last, each) => last.then(() => run(each)), Promise.resolve());
    this.ready = run(new URL(address, document.baseURI).href).then(() => inside);
    this.terminate = () => frame.remove();
  }

  postMessage(data) {
    this.ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
  }
}

if (location.protocol === "file:") Object.assign(window, { IFrameWorker, Worker: IFrameWorker });
