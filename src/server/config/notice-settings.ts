/** Notices that the service sends: docs/guides/notices.md. */
export const noticeSettings = {
  smtpUrl: {
    env: 'MILLRACE_SMTP_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'Mail server for notices (smtp://user:password@host:587, smtps://…). Empty: no e-mail is sent.',
  },
  smtpFrom: {
    env: 'MILLRACE_SMTP_FROM',
    type: 'string',
    default: '',
    help: 'Sender of notices by e-mail, such as `Millrace <millrace@example.com>`.',
  },
  noticeDeadLetters: {
    env: 'MILLRACE_NOTICE_DEAD_LETTERS',
    type: 'integer',
    default: 100,
    min: 0,
    max: 10_000,
    help: 'Notices tell when more events of a project than this could not be stored within an hour.',
  },
  noticeLagSeconds: {
    env: 'MILLRACE_NOTICE_LAG_SECONDS',
    type: 'integer',
    default: 300,
    min: 1,
    max: 86_400,
    help: 'Notices tell when a live event has waited longer than this to be stored.',
  },
} as const;
