/** Asks for what the command line did not say. */
import * as prompts from "@clack/prompts";
import { AUTHS, type Choices, issuerFault, pushByDefault, TEMPLATES, withDefaults } from "./choices.ts";

/** The choices; undefined when the one at the keyboard gave up. */
export async function ask(
  given: Partial<Choices>,
  {
    inRepository,
    folderFault,
  }: { inRepository: boolean; folderFault(folder: string): string | undefined },
): Promise<Choices | undefined> {
  const chosen: Partial<Choices> = { ...given };
  const answer = async <K extends keyof Choices>(
    key: K,
    question: () => Promise<Choices[K] | symbol>,
  ): Promise<void> => {
    if (chosen[key] !== undefined) return;
    const value = await question();
    if (prompts.isCancel(value)) throw new GaveUp();
    chosen[key] = value as Choices[K];
  };
  const options = <T extends object>(values: T) =>
    Object.entries(values).map(([value, hint]) => ({ value, label: value, hint: String(hint) }));
  const yesNo = (message: string, initialValue: boolean) => () =>
    prompts.confirm({ message, initialValue });
  try {
    await answer("folder", () =>
      prompts.text({
        message: "Where?",
        placeholder: "./my-agent",
        defaultValue: "./my-agent",
        validate: (folder) => folderFault(folder || "./my-agent"),
      }),
    );
    await answer(
      "template",
      () => prompts.select({ message: "What kind of agent?", options: options(TEMPLATES) }) as never,
    );
    await answer(
      "auth",
      () => prompts.select({ message: "Who may call it?", options: options(AUTHS) }) as never,
    );
    if (chosen.auth === "oidc") {
      await answer("issuer", () =>
        prompts.text({
          message: "URL of the issuer (the `iss` of its tokens)",
          validate: (issuer = "") => issuerFault(issuer),
        }),
      );
      await answer("audience", () =>
        prompts.text({
          message: "Audience of the tokens (their `aud`)",
          validate: (audience) => (audience ? undefined : "must be said"),
        }),
      );
    }
    await answer("push", yesNo("Webhooks?", pushByDefault(chosen.template ?? "hello")));
    await answer("install", yesNo("Install with npm?", true));
    if (!inRepository) await answer("git", yesNo("git init?", true));
  } catch (error) {
    if (error instanceof GaveUp) return undefined;
    throw error;
  }
  return withDefaults(chosen, inRepository);
}

class GaveUp extends Error {}
