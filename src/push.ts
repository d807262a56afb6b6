/** What receivers of webhooks need: the entry point `durable-a2a/push`, which runs anywhere. */
export { NotificationError, type NotificationErrorCode } from "./push/notification-error.ts";
export type { SeenStore } from "./push/seen.ts";
export {
  type VerifiedNotification,
  type VerifyNotificationOptions,
  verifyNotification,
} from "./push/verify.ts";
