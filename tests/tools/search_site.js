// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Searches the site as a page that is opened from a file does, with as much of a browser as that takes.
//   node search_site.js SITE WORD     prints the pages that are found
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const { fileURLToPath, pathToFileURL } = require("url");

const [site, word] = process.argv.slice(2);
const base = pathToFileURL(`${path.resolve(site)}/`).href;

// A window: a global object with events, and a document whose scripts are run when they are appended.
function browserWindow(parent) {
  const events = new EventTarget();
  const window = vm.createContext({ EventTarget, Event, MessageEvent, URL, console });
  const append = (element) => {
    if (element.tag === "iframe") element.contentWindow = browserWindow(window);
    if (element.tag !== "script") return;
    window.document.scripts.push(element);
    setTimeout(() => {
      vm.runInContext(fs.readFileSync(fileURLToPath(element.src), "utf8"), window, { filename: element.src });
      element.onload?.();
    });
  };
  Object.assign(window, {
    self: window, window, parent: parent ?? window, location: { protocol: "file:" },
    addEventListener: events.addEventListener.bind(events), dispatchEvent: events.dispatchEvent.bind(events),
    document: {
      baseURI: `${base}index.html`, scripts: [], body: { append }, open() {}, write() {}, close() {},
      createElement: (tag) => ({ tag, remove() {} }),
      querySelector: () => window.document.scripts[0], querySelectorAll: () => window.document.scripts,
    },
  });
  return window;
}

const page = browserWindow();
page.document.body.append({ tag: "script", src: `${base}iframe-worker.js`, onload: search });
function search() {
  vm.runInContext(fs.readFileSync(path.join(site, "search/search_index.js"), "utf8"), page);
  const folder = "assets/javascripts/workers";
  const script = fs.readdirSync(path.join(site, folder)).find((name) => /^search.*\.js$/.test(name));
  const worker = vm.runInContext(`new Worker("${folder}/${script}")`, page);
  worker.addEventListener("message", ({ data }) => {
    if (data.type === 1) worker.postMessage({ type: 2, data: word });
    if (data.type !== 3) return;
    for (const found of data.data.items.flat()) console.log(found.location);
    process.exit(0);
  });
  worker.postMessage({ type: 0, data: { ...vm.runInContext("__index", page), options: { suggest: false } } });
}
setTimeout(() => { console.error("the search gave no answer"); process.exit(1); }, 60000);
