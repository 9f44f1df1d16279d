import { Command as Commander, CommanderError } from 'commander';

/** A commander command of that name whose faults are thrown and never end the process. */
export function subcommand(name: string, description: string): Commander {
  return new Commander(name).description(description).exitOverride().showHelpAfterError();
}

/**
 * Parses the arguments and runs the command's action, which returns the exit status. 0 after --help, 2 for unusable
 * arguments (commander has printed what is wrong).
 */
export async function runSubcommand(
  command: Commander,
  args: readonly string[],
  action: (command: Commander) => Promise<number>,
): Promise<number> {
  let status = 0;
  command.action(async () => {
    status = await action(command);
  });
  try {
    await command.parseAsync([...args], { from: 'user' });
  } catch (reason) {
    if (!(reason instanceof CommanderError)) throw reason;
    return reason.exitCode === 0 ? 0 : 2;
  }
  return status;
}
