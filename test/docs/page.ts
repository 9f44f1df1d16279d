/**
 * What a page of documentation shows to be run: the commands of its `sh` blocks and its `js` and `ts` programs, in order.
 *
 *   `<!-- run: COMMAND -->`       runs a command that readers do not see (preparation)
 *   `<!-- not run: REASON -->`    the next block cannot be run by a test
 *   `... # exit status N`         the command is meant to end with that status
 */

/** One thing to run. */
export interface Step {
  readonly kind: 'command' | 'serve' | 'npm' | 'program';
  readonly text: string;
  /** Exit status that the page promises; 0 unless it says otherwise. */
  readonly status: number;
}

const COMMENT = /^<!-- (run|not run): ([\s\S]*?) ?-->$/;
const SERVE = /^(?:\w+=\S+ +)*triton serve\b(?!.* --help)/;
const NPM = /^(?:\w+=\S+ +)*npm /;

/** Reads a page (Markdown). */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = [];
  let skipped = false;
  const parts = markdown.matchAll(/^<!-- (?:not )?run: [\s\S]*?-->$|^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm);
  for (const [whole, language, body = ''] of parts) {
    const comment = COMMENT.exec(whole);
    if (comment?.[1] === 'run') steps.push(...commandSteps(comment[2] as string));
    else if (comment === null && !skipped && language === 'sh') steps.push(...commandSteps(body));
    else if (comment === null && !skipped && (language === 'js' || language === 'ts')) {
      steps.push({ kind: 'program', text: body, status: 0 });
    }
    skipped = comment?.[1] === 'not run';
  }
  return steps;
}

function commandSteps(block: string): Step[] {
  return splitCommands(block).map((text): Step => {
    const status = Number(/# exit status (\d+)\s*$/.exec(text)?.[1] ?? 0);
    const kind = NPM.test(text) ? 'npm' : status === 0 && SERVE.test(text) ? 'serve' : 'command';
    return { kind, text, status };
  });
}

/** One command per line, except that quotations, here-documents and lines that end in a backslash go on. */
function splitCommands(block: string): string[] {
  const commands: string[] = [];
  let command: string[] = [];
  for (const line of block.split('\n')) {
    command.push(line);
    const text = command.join('\n');
    if (line.endsWith('\\') || !isComplete(text)) continue;
    if (text.trim() !== '' && !text.trim().startsWith('#')) commands.push(text.trim());
    command = [];
  }
  return commands;
}

function isComplete(text: string): boolean {
  const end = /<<-?\s*['"]?(\w+)['"]?/.exec(text)?.[1];
  if (end !== undefined) return text.split('\n').slice(1).includes(end);
  return (text.match(/'/g)?.length ?? 0) % 2 === 0;
}
