import { EXECUTABLE_VARIABLE } from '../backends/python/process/interpreter.js';
import type { Check } from './check.js';
import { findProgram, type Host, runProgram } from './host.js';

/** Prints the versions as JSON; without numpy its place says why. */
const SCRIPT = `
import json, platform, sys
facts = {"version": platform.python_version(), "executable": sys.executable}
try:
    import numpy
    facts["numpy"] = numpy.__version__
except BaseException as error:
    facts["problem"] = "%s: %s" % (type(error).__name__, error)
print(json.dumps(facts))
`;

/** The interpreter of Python models, and numpy in it. */
export async function checkPython(host: Host): Promise<Check> {
  const named = host.env[EXECUTABLE_VARIABLE];
  const name = named || 'python3';
  const base = { id: 'python', title: 'Python' };
  const without = 'Python models cannot be served; all others can';
  const file = findProgram(host, name);
  if (file === undefined) {
    const remedy = named
      ? `Correct ${EXECUTABLE_VARIABLE}: it names the interpreter.`
      : `Install Python 3 and numpy (apt-get install python3-numpy), or name an interpreter in ${EXECUTABLE_VARIABLE}.`;
    const found = [named ? `${EXECUTABLE_VARIABLE} names '${named}', which is not a program` : 'no python3 in PATH'];
    return { ...base, status: 'missing', found, facts: { executable: null }, follows: without, remedy };
  }
  const { status, out, complaint } = await runProgram(host, file, ['-c', SCRIPT]);
  const facts = parse(out);
  if (facts === undefined) {
    const why = complaint.trim().split('\n').at(-1) || `exit status ${status}`;
    const found = [`${file} does not run a program: ${why}`];
    const remedy = `Name a working interpreter in ${EXECUTABLE_VARIABLE}.`;
    return { ...base, status: 'missing', found, facts: { executable: file }, follows: without, remedy };
  }
  const { version = '', numpy, problem } = facts;
  const found = [`${version}: ${file}`];
  if (numpy === undefined) {
    found.push(`numpy cannot be imported (${problem})`);
    const remedy = `Install it: ${file} -m pip install numpy; or name an interpreter that has it in ${EXECUTABLE_VARIABLE}.`;
    return {
      ...base,
      status: 'missing',
      found,
      facts: { executable: file, version, numpy: null },
      follows: without,
      remedy,
    };
  }
  found.push(`numpy ${numpy}`);
  const follows = 'Python models can be served; their other packages must be in this interpreter too';
  return { ...base, status: 'ok', found, facts: { executable: file, version, numpy }, follows };
}

function parse(out: string): { version?: string; numpy?: string; problem?: string } | undefined {
  try {
    return JSON.parse(out.trim().split('\n').at(-1) ?? '') as { version?: string };
  } catch {
    return undefined;
  }
}
