/** `triton repo init DIR`: makes the example repository. */
import { initRepository } from '../../tools/init-repository.js';
import type { Command } from '../frame/command.js';
import { reportFailure } from '../frame/report-failure.js';
import { shellWord } from '../frame/shell-word.js';
import { runSubcommand } from '../frame/subcommand.js';

/** Runs `triton repo init`: 0 when the repository was made, 1 when not, 2 for unusable arguments. */
export const run: Command = (args) =>
  runSubcommand(
    {
      name: 'triton repo init',
      summary: 'Make the example repository: an image classifier and small test models.',
      argument: { form: '<directory>', help: 'directory to make; it must be new or empty' },
      options: [],
      context: { options: {} },
      run: (_options, [directory = '']) => init(directory),
    },
    args,
  );

async function init(directory: string): Promise<number> {
  try {
    const models = await initRepository(directory);
    process.stdout.write(`Made the repository '${directory}' with ${models.length} models: ${models.join(', ')}.\n`);
    process.stdout.write(`Serve it with: triton serve --model-repository ${shellWord(directory)}\n`);
    return 0;
  } catch (reason) {
    return reportFailure('triton repo init', reason);
  }
}
