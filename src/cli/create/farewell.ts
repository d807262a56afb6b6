/** What create-agent says at the end: how to run the agent, call it, deploy it, and make it again. */
import { type Choices, optionsFor } from "./choices.ts";
import { quoted } from "./names.ts";
import { IS_CLONE } from "./package-files.ts";

const URL = "http://127.0.0.1:8787";

export interface Made {
  choices: Choices;
  /** The caller's key, which is stored nowhere. */
  key: string | undefined;
  seconds: number;
  /** From where the command was given. */
  folder: string;
}

export function farewell({ choices, key, seconds, folder }: Made): string {
  const { auth, install } = choices;
  const credentials = {
    "api-key": ` -H 'X-API-Key: ${key}'`,
    oidc: " -H 'Authorization: Bearer TOKEN'",
    open: "",
  }[auth];
  const headers = `-H 'Content-Type: application/json' -H 'A2A-Version: 1.0'${credentials}`;
  const message = '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"Ada"}]}}';
  const program = IS_CLONE ? "npm run create-agent --" : "npm create durable-a2a@latest --";
  const again = [folder, ...optionsFor(choices)].map(quoted).join(" ");
  return `
Made ${folder} in ${seconds.toFixed(1)} s.

  cd ${quoted(folder)}${install ? "" : "\n  npm install"}
  npm run dev

Agent card:  ${URL}/.well-known/agent-card.json
Say hello:   curl -s ${URL}/message:send ${headers} -d '${message}'
${key === undefined ? "" : `Your key:    ${key} (kept nowhere else; its hash is in .dev.vars)\n`}
Tests:       npm test
Deploy:      npm run deploy (README.md says what it needs)
Once more:   ${program} ${again}
`;
}
