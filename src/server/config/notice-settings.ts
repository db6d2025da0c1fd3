/** Settings of notifications: docs/guides/notices.md. */
export const noticeSettings = {
  smtpUrl: {
    env: 'MILLRACE_SMTP_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'Mail server for notifications (smtp://user:password@host:587, smtps://…). Empty disables e-mail.',
  },
  smtpFrom: {
    env: 'MILLRACE_SMTP_FROM',
    type: 'string',
    default: '',
    help: 'Sender of e-mail notifications, e.g. `Millrace <millrace@example.com>`.',
  },
  noticeDeadLetters: {
    env: 'MILLRACE_NOTICE_DEAD_LETTERS',
    type: 'integer',
    default: 100,
    min: 0,
    max: 10_000,
    help: "Number of a project's events that could not be stored within an hour, above which a notification is sent.",
  },
  noticePlanViolations: {
    env: 'MILLRACE_NOTICE_PLAN_VIOLATIONS',
    type: 'integer',
    default: 100,
    min: 0,
    max: 1_000_000_000,
    help: "Violations of a project's tracking plan within two hours above which a notification is sent.",
  },
  noticeLagSeconds: {
    env: 'MILLRACE_NOTICE_LAG_SECONDS',
    type: 'integer',
    default: 300,
    min: 1,
    max: 86_400,
    help: 'Waiting time of a live event above which a notification is sent.',
  },
} as const;
