/** workerd generates no code from strings, so Zod interprets its schemas there. It does the same in these tests. */
import * as z from "zod";

z.config({ jitless: true });
