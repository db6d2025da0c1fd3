import { CarrierError, type Carrier } from './carrier.ts';
import { linesOf, titleOf } from './words.ts';

export interface EmailSettings {
  /** `smtp://user:password@host:587` or `smtps://…`; empty means that no mail can be sent. */
  readonly smtpUrl: string;
  /** `Millrace <millrace@example.com>`. */
  readonly smtpFrom: string;
}

const waitMs = 15_000;

/** Passes the notification as plain text to the operator's mail server. */
export function createEmail({ smtpUrl, smtpFrom }: EmailSettings): Carrier {
  return async (letter) => {
    if (smtpUrl === '' || smtpFrom === '') {
      const message = 'expected MILLRACE_SMTP_URL and MILLRACE_SMTP_FROM on processes with the role jobs, got none';
      throw new CarrierError(message, { retry: false });
    }
    const to = [...(letter.address.to ?? [])];
    const text = `${[letter.notice.summary, ...linesOf(letter), letter.notice.occurred_at].join('\n\n')}\n`;
    // Loaded for the first mail: most installations send none.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      url: smtpUrl,
      connectionTimeout: waitMs,
      greetingTimeout: waitMs,
      socketTimeout: waitMs,
    });
    try {
      const headers = { 'Auto-Submitted': 'auto-generated', 'X-Millrace-Notice-Id': letter.id };
      const { rejected } = await transport.sendMail({ from: smtpFrom, to, subject: titleOf(letter), text, headers });
      if (rejected.length > 0) {
        const message = `the mail server accepted ${to.length - rejected.length} of ${to.length} recipients and refused ${rejected.join(', ')}`;
        // A retry would reach the accepted recipients twice.
        throw new CarrierError(message, { retry: false });
      }
    } catch (error) {
      throw error instanceof CarrierError ? error : refusal(error);
    } finally {
      transport.close();
    }
  };
}

/** 5xx is permanent, except for a failed login: the password may be changing. */
function refusal(error: unknown): CarrierError {
  const { code = 'unknown', responseCode } = error as { readonly code?: string; readonly responseCode?: number };
  const answer = responseCode === undefined ? code : `${responseCode} (${code})`;
  const isFinal = responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH';
  return new CarrierError(`expected the mail server to accept the mail, got: ${answer}`, {
    retry: !isFinal,
    cause: error,
  });
}
