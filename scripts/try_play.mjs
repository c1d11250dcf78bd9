// Try the page docs/play in a headless browser: ask its examples, at two widths, and print what it says.
//
//     npm install puppeteer-core && node scripts/try_play.mjs site [folder for pictures] [interpreter]
//
// With an interpreter, its Vernal answers in the place of Pyodide: so the page is tried where packages of Pyodide cannot
// be had. CHROMIUM names the browser (default: chromium on the PATH).
import { spawnSync, execSync } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { basename, extname, join, resolve } from "node:path"
import puppeteer from "puppeteer-core"

const [site, pictures, interpreter] = [resolve(process.argv[2] ?? "site"), process.argv[3], process.argv[4]]
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" }
const folder = mkdtempSync(join(tmpdir(), "play-"))
const questions = [
  ["thermostat", "", "holds"], ["vacuum", "", "holds"], ["cartpole", "G[0,10] (abs(theta) < 0.05)", "violated"],
  ["thermostat", "G[0,5] (T <= ", "is never closed"],
]
const STAND_IN = `
const send = (path, body) => {
  const sent = new XMLHttpRequest()
  sent.open("POST", path, false)
  sent.send(body)
  return sent.responseText
}
export const loadPyodide = async () => ({
  version: "beside the page", unpackArchive() {}, async loadPackage() {},
  FS: { mkdirTree() {}, writeFile: (name, content) => send("/write" + name, content) },
  runPython: () => (text, folder, spec, seconds) => send("/ask", JSON.stringify([text, spec, seconds])),
})`
const ANSWER = `
import json, os, sys
from vernal.plugins.playground import answer
text, spec, seconds = json.load(sys.stdin)
print(answer(text, os.getcwd(), spec, seconds))`

async function content(path, body) {
  if (interpreter && path === "/ask") return spawnSync(interpreter, ["-c", ANSWER], { input: body, cwd: folder }).stdout
  if (interpreter && path.startsWith("/write")) return writeFileSync(join(folder, basename(path)), body) ?? ""
  if (interpreter && path.endsWith("/stand_in/pyodide.mjs")) return STAND_IN
  const found = await readFile(join(site, path))
  if (!interpreter || basename(path) !== "packages.json") return found
  return JSON.stringify({ ...JSON.parse(found), pyodide: "stand_in/", wheels: [], missing: [] })
}

const server = createServer(async (request, response) => {
  const path = decodeURIComponent(new URL(request.url, "http://site").pathname)
  const parts = []
  for await (const part of request) parts.push(part)
  try {
    const found = await content(path, Buffer.concat(parts))
    response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(found)
  } catch {
    response.writeHead(404).end()
  }
})
await new Promise(done => server.listen(0, "127.0.0.1", done))
const executablePath = process.env.CHROMIUM ?? execSync("command -v chromium").toString().trim()
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"], protocolTimeout: 600000 })
let failed = 0
try {
  for (const width of [1280, 400]) {
    const page = await browser.newPage()
    await page.setViewport({ width, height: 900 })
    await page.goto(`http://127.0.0.1:${server.address().port}/docs/play/index.html`)
    await page.waitForSelector("#ask:not([disabled]), #state.problem", { timeout: 300000 })
    console.log(`${width} px: ${await page.$eval("#state", state => state.textContent)}`)
    const asked = (await page.$("#state.problem")) ? [] : questions
    failed += asked.length ? 0 : 1
    for (const [example, spec, wanted] of asked) {
      await page.select("#example", example)
      await page.$eval("#spec", (field, text) => { field.value = text }, spec)
      await page.click("#ask")
      await page.waitForFunction(() => document.querySelector("#state").textContent === "done", { timeout: 300000 })
      const said = await page.$eval("#answers", answers => answers.textContent)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
      failed += said.includes(wanted) && !wide ? 0 : 1
      console.log(`  ${example} ${spec}: ${said.trim().replace(/\s+/g, " ").slice(0, 100)}${wide ? " (too wide)" : ""}`)
      if (pictures) await page.screenshot({ path: join(pictures, `${example}-${width}-${spec.length}.png`), fullPage: true })
    }
    await page.close()
  }
} finally {
  await browser.close()
  server.close()
}
process.exit(failed ? 1 : 0)
