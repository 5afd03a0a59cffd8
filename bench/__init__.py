"""The measuring stand: `./dev bench`. What is measured lies in benches/, how it is measured in stand/."""
