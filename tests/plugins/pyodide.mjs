// Python of Pyodide under node: node pyodide.mjs DISTRIBUTION SCRIPT ROOT; the repository is mounted at /repository, a result printed.
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

const [distribution, script, root] = process.argv.slice(2)
const { loadPyodide } = await import(pathToFileURL(join(distribution, "pyodide.mjs")).href)
const python = await loadPyodide()
python.FS.mkdirTree("/repository")
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/repository")
console.log(python.runPython(await readFile(script, "utf-8")))
