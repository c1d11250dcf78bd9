// The worker of docs/play outside a browser: node worker.mjs WORKER FOLDER QUESTION; what it posts is printed, a line each.
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const [worker, folder, question] = process.argv.slice(2)
globalThis.location = { href: pathToFileURL(join(folder, "index.html")).href }
globalThis.fetch = async url => {
  const content = await readFile(new URL(url, location.href))
  return { ok: true, json: async () => JSON.parse(content), arrayBuffer: async () => content }
}
globalThis.postMessage = message => {
  console.log(JSON.stringify(message))
  if (message.ready) globalThis.onmessage({ data: JSON.parse(question) })
}
await import(pathToFileURL(worker).href)
