/** An error of the one who gave the command: its message says what to do, and is all that is shown. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
