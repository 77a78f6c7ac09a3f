"""Host-supplied: hidden from whoever writes the fix."""

import unittest
from datetime import date, timedelta

from worklog.period import month


class EveryMonthTest(unittest.TestCase):
    def test_every_day_of_two_years_lies_in_its_own_month_alone(self) -> None:
        for number in range(731):
            day = date(2023, 1, 1) + timedelta(days=number)
            with self.subTest(day=day):
                self.assertIn(day, month(day))
                self.assertNotIn(day, month(day.replace(day=1) - timedelta(days=1)))
                self.assertNotIn(day, month(day.replace(day=28) + timedelta(days=4)))
